<?php
// SPDX-License-Identifier: Apache-2.0
// What all scenarios share: the leaf that burns, and what PHP itself says of a stack.
//
// A comment "//! NAME" behind a call says that what it calls by that name is called through C without a frame of that C
// function's; "//? NAME" that it may be. A name is a method's or function's, "{closure}" or "require". What else a
// function calls is called by the same run of the VM.
namespace Burn;

final class State
{
	public static $observing = false;
	public static $scenario = 'driver';
	public static $times = 1;
	public static $missing = [];
	private static $reported = [];

	// A line STACK SCENARIO NAME|FILE|LINE|TIMES..., leaf first, for each that was not there before. File and line are
	// where the frame is itself; a function in C has none. TIMES tells how many such frames are in a row.
	public static function seen()
	{
		$frames = self::frames_of(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
		$key = implode("\t", $frames);
		if (!isset(self::$reported[$key])) {
			self::$reported[$key] = true;
			say('STACK', self::$scenario, $key);
		}
	}

	// debug_backtrace gives each frame the place of its caller, and has no frame for what is at the root.
	private static function frames_of(array $trace)
	{
		$found = [];
		$file = $trace[0]['file'];
		$line = $trace[0]['line'];
		foreach (array_slice($trace, 1) as $frame) {
			$found[] = [self::name_of($frame, $file), $file, $line];
			$file = $frame['file'] ?? '';
			$line = $frame['line'] ?? 0;
		}
		if ($file !== '') {
			$found[] = ['{main}', $file, $line];
		}
		return self::counted(array_map(function ($frame) {
			return implode('|', $frame);
		}, $found));
	}

	private static function counted(array $words)
	{
		$found = [];
		for ($i = 0; $i < count($words); $i += $times) {
			for ($times = 1; ($words[$i + $times] ?? '') === $words[$i]; $times++);
			$found[] = $words[$i] . "|$times";
		}
		return $found;
	}

	private static function name_of(array $frame, $file)
	{
		$name = $frame['function'];
		if (isset($frame['class'])) {
			return strtok($frame['class'], "\0") . "::$name";
		}
		return in_array($name, ['include', 'include_once', 'require', 'require_once'], true) ? "$name $file" : $name;
	}
}

// Whole, whichever processes write.
function say(...$words)
{
	static $to = null;
	$to = $to ?: fopen('php://stdout', 'w');
	fwrite($to, implode("\t", $words) . "\n");
}

// Some microseconds for each hundred rounds; in each of both loops half of them.
function spin($rounds)
{
	if (State::$observing) {
		State::seen();
	}
	$rounds *= State::$times;
	$x = $rounds | 1;
	for ($i = 0; $i < $rounds; $i++) {
		$x = ($x * 1664525 + $i) & 0xffffffff;
	}
	for ($i = 0; $i < $rounds; $i++) {
		$x = ($x * 1664525 - $i) & 0xffffffff;
	}
	return $x;
}

// Never called: a name that no profile may have.
function never()
{
	return spin(1) + spin(2);
}

// Called at a high rate: there is hardly a moment in which it runs.
function nothing($n = 0)
{
	return $n;
}

function caches()
{
	$status = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
	return ['OPCACHE' => (bool) $status, 'JIT' => $status && ($status['jit']['on'] ?? false)];
}

// Lines C NAME, USER NAME FILE FIRST LAST of all functions.
function tell()
{
	$all = get_defined_functions();
	foreach ($all['internal'] as $name) {
		say('C', $name);
	}
	foreach ($all['user'] as $name) {
		tell_function(new \ReflectionFunction($name), '');
	}
	foreach (array_merge(get_declared_classes(), get_declared_interfaces(), get_declared_traits()) as $class) {
		foreach ((new \ReflectionClass($class))->getMethods() as $method) {
			tell_function($method, strtok($method->class, "\0") . '::');
		}
	}
}

function tell_function($function, $class)
{
	if ($function->isInternal()) {
		say('C', $class . $function->getName());
	} else {
		say('USER', $class . $function->getName(), $function->getFileName(), $function->getStartLine(), $function->getEndLine());
	}
}

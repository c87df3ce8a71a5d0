<?php
// SPDX-License-Identifier: Apache-2.0
// burner.php SECONDS [--observe] [--only=NAME,...] [--but=NAME,...]
//
// Burns CPU time in stacks that it knows: each scenario in turn, for a slice of time. Prints lines of words, with tabs
// between:
//
//	STACK SCENARIO FRAME...		--observe: burn.php explains it; each scenario has some turns
//	C NAME				--observe: a function in C
//	USER NAME FILE FIRST LAST	--observe: a function, and its lines
//	ANYWHERE NAME			it may be called from any line
//	MISSING SCENARIO WHY		a scenario that this PHP has not
//	FORKED PID			a process that it made
//	STARTED SECONDS			CPU time until the first scenario
//	OPCACHE, JIT			there is one
//	WORK SCENARIO SECONDS TURNS	CPU time and turns of a scenario
//	CPU SECONDS			what the process and its children have used, in the end
//
// Threads of embed.c have no arguments: they are in the variable BURN.
//
// What is in ASIDE is in no run that does not name it: code that is freed at once, and other processes.
namespace Burn;

require __DIR__ . '/burn.php';
require __DIR__ . '/burn/calls.php';
require __DIR__ . '/burn/magic.php';
require __DIR__ . '/burn/callbacks.php';
require __DIR__ . '/burn/flow.php';
require __DIR__ . '/burn/generators.php';
require __DIR__ . '/burn/aside.php';

const SLICE = 15000000;
const TURNS = 3;
const ASIDE = 'fleeting,texts,forks';
// The release that has it first.
const SCENARIOS = ['plain' => 0, 'loops' => 0, 'inherited' => 0, 'closures' => 0, 'by_name' => 0, 'kept_texts' => 0, 'characters' => 0,
	'deep1000' => 0, 'turns64' => 0, 'magic' => 0, 'objects' => 0, 'casts' => 0, 'callbacks' => 0, 'bare_callbacks' => 0,
	'functions_of_c' => 0, 'reflection' => 0, 'iterators' => 0, 'flow' => 0, 'errors' => 0,
	'destructors' => 0, 'ticks' => 0, 'signals' => 0, 'generators' => 0, 'delegation' => 0, 'allocation' => 0,
	'fleeting' => 0, 'texts' => 0, 'forks' => 0, 'newer_calls' => 80000, 'fibers' => 80100, 'fibers16' => 80100, 'enums' => 80100,
	'hooks' => 80400, 'frameless' => 80400];

foreach (['newer' => 80000, 'fibers' => 80100, 'hooks' => 80400] as $name => $first) {
	if (PHP_VERSION_ID >= $first) {
		require __DIR__ . "/burn/$name.php";
	}
}

final class Driver
{
	private $options = ['but' => ASIDE, 'only' => ''];
	private $seconds;
	private $work = [];

	public function __construct(array $arguments)
	{
		$this->seconds = (float) $arguments[1];
		foreach (array_slice($arguments, 2) as $word) {
			list($name, $value) = explode('=', substr($word, 2) . '=');
			$this->options[$name] = $value;
		}
		State::$observing = isset($this->options['observe']);
	}

	private function chosen()
	{
		$only = array_filter(explode(',', $this->options['only']));
		$found = [];
		foreach ($only ?: array_diff(array_keys(SCENARIOS), explode(',', $this->options['but'])) as $name) {
			$why = PHP_VERSION_ID < SCENARIOS[$name] ? 'newer' : State::$missing[$name] ?? '';
			if ($why === '') {
				$found[] = $name;
			} else {
				say('MISSING', $name, $why);
			}
		}
		return $found;
	}

	private function slice($name)
	{
		$turn = "Burn\\turn_$name";
		$began = used();
		$finish = hrtime(true) + SLICE;
		$turns = 0;
		do {
			$turns++;
			$turn();
		} while (State::$observing ? $turns < TURNS : hrtime(true) < $finish);
		$this->work[$name][0] = ($this->work[$name][0] ?? 0) + used() - $began;
		$this->work[$name][1] = ($this->work[$name][1] ?? 0) + $turns;
	}

	public function run()
	{
		$scenarios = $this->chosen();
		say('STARTED', used());
		$finish = hrtime(true) + $this->seconds * 1e9;
		do {
			foreach ($scenarios as $name) {
				State::$scenario = $name;
				$this->slice($name);
			}
		} while (hrtime(true) < $finish);
		foreach ($this->work as $name => $figures) {
			say('WORK', $name, $figures[0], $figures[1]);
		}
		State::$scenario = 'shutdown';
	}
}

function seconds_of(array $usage)
{
	return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
}

function used()
{
	return seconds_of(getrusage());
}

// C calls it when the main script has ended: below it is nothing of PHP.
function at_end()
{
	for ($i = 0; $i < 10; $i++) {
		spin(500);
	}
}

function tell_all()
{
	say('CPU', used() + seconds_of(getrusage(1)));
	if (State::$observing) {
		tell();
	}
}

register_shutdown_function('Burn\at_end');
register_shutdown_function('array_map', 'Burn\spin', [500]);
register_shutdown_function('Burn\tell_all');
foreach (caches() as $name => $is_on) {
	if ($is_on) {
		say($name);
	}
}
State::$times = caches()['JIT'] ? 8 : 1;
(new Driver($argv ?? explode(' ', getenv('BURN'))))->run();

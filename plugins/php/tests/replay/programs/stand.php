<?php
// SPDX-License-Identifier: Apache-2.0
// stand.php [fiber]: stays in a stack with one of each: functions, methods of a class and a trait, closures, eval, include,
// functions in C, generators, recursion; with "fiber" in two fibers. It comes there often, so that a JIT compiles it. For
// PHP 7.4 and newer.

function spin()
{
	for ($x = 0, $i = 0; $i < 10000; $i++) {
		$x += $i;
	}
	return $x;
}

function stand($left)
{
	while ($left != 0) {
		$left--;
		spin();
	}
}

trait Down
{
	private function down($turns, $left)
	{
		return $left > 1 ? $this->down($turns, $left - 1) : stand($turns);
	}
}

class Box
{
	use Down;

	public static function make($turns)
	{
		return (new static())->contents($turns);
	}

	public function contents($turns)
	{
		return array_map(function ($n) {
			foreach ($this->outer($n) as $value);
		}, [$turns]);
	}

	private function outer($turns)
	{
		yield from $this->inner($turns);
	}

	private function inner($turns)
	{
		yield $this->absent($turns);
	}

	public function __call($name, $arguments)
	{
		return $this->down($arguments[0], 3);
	}
}

function by_text($turns)
{
	return eval("// one line\nreturn Box::make(\$turns);");
}

function start($turns)
{
	if (($GLOBALS['argv'][1] ?? '') !== 'fiber') {
		return by_text($turns);
	}
	$fiber = new Fiber(function () use ($turns) {
		$inner = new Fiber('by_text');
		$inner->start($turns);
	});
	$fiber->start();
}

for ($i = 0; $i < 100; $i++) {
	start(1);
}
echo "READY\n";
start(-1);

<?php
// shares.php TURNS [PROFILE]: does so many turns of work of many kinds, all below Work::all; with PROFILE under Excimer,
// whose stacks are written there, root first: "frame;frame;... count". C runs for less than 0.1 ms a call.
final class Work
{
	public static function fib(int $n): int { return $n < 2 ? $n : self::fib($n - 1) + self::fib($n - 2); }

	public static function sieve(int $size): int
	{
		$marks = array_fill(0, $size, true);
		for ($n = 2; $n * $n < $size; $n++) {
			for ($at = $n * $n; $marks[$n] && $at < $size; $at += $n) {
				$marks[$at] = false;
			}
		}
		return count(array_filter($marks));
	}

	public static function matrix(int $size): int
	{
		$sum = 0;
		for ($row = 0; $row < $size; $row++) {
			for ($column = 0; $column < $size; $column++) {
				$sum += $row * $column % 7;
			}
		}
		return $sum;
	}

	public static function order(array $words): int
	{
		usort($words, fn($a, $b) => strrev($a) <=> strrev($b));
		return count(array_unique(array_map(fn($word) => substr($word, 0, 2), $words)));
	}

	public static function letters(array $words): array
	{
		$all = [];
		foreach ($words as $word) {
			foreach (str_split($word) as $letter) {
				$all[$letter] = ($all[$letter] ?? 0) + 1;
			}
		}
		return $all;
	}

	public static function numbers(int $most): Generator
	{
		for ($n = 0; $n < $most; $n++) {
			yield $n * 7919 % 1009;
		}
	}

	public static function sum(int $most): int
	{
		$sum = 0;
		foreach (self::numbers($most) as $n) {
			$sum += $n;
		}
		return $sum;
	}

	public static function tree(int $most): int
	{
		$tree = new Tree();
		for ($n = 0; $n < $most; $n++) {
			$tree->add($n * 7919 % 1009);
		}
		return $tree->weigh($tree->root);
	}

	public static function all(int $turns): void
	{
		$words = array_map(fn($n) => str_repeat(base_convert((string) ($n * 7919 % 1009), 10, 36), 1 + $n % 3), range(1, 300));
		for ($turn = 0; $turn < $turns; $turn++) {
			self::fib(17);
			self::sieve(4000);
			self::matrix(60);
			self::order($words);
			self::letters($words);
			self::sum(3000);
			self::tree(300);
		}
	}
}

final class Tree
{
	public ?array $root = null;

	public function add(int $key): void { $this->root = $this->put($this->root, $key); }

	private function put(?array $node, int $key): array
	{
		if ($node === null) {
			return [$key, null, null];
		}
		$side = $key < $node[0] ? 1 : 2;
		$node[$side] = $this->put($node[$side], $key);
		return $node;
	}

	public function weigh(?array $node): int { return $node ? $node[0] + $this->weigh($node[1]) + $this->weigh($node[2]) : 0; }
}

if (!isset($argv[2])) {
	Work::all((int) $argv[1]);
	exit;
}
$profiler = new ExcimerProfiler();
$profiler->setEventType(EXCIMER_CPU);
$profiler->setPeriod(0.004);
$profiler->start();
Work::all((int) $argv[1]);
$profiler->stop();
file_put_contents($argv[2], $profiler->getLog()->formatCollapsed());

<?php
// SPDX-License-Identifier: Apache-2.0
// What functions in C call, for long and for nothing.
namespace Burn;

function by_size($one, $other)
{
	spin(50);
	return $one <=> $other;
}

function worded(array $match)
{
	spin(100);
	return $match[0];
}

function walked(&$value, $key, $n)
{
	spin($n);
}

function turn_callbacks()
{
	$list = [3, 1, 2];
	usort($list, 'Burn\by_size');
	array_map(function ($n) {
		return spin($n * 50);
	}, $list);
	array_map(fn($n) => spin($n * 50), $list);
	array_filter($list, function ($n) {
		return spin($n + 50) > 0;
	});
	array_reduce($list, fn($sum, $n) => spin($n + 50) & 1, 0);
	array_walk($list, 'Burn\walked', 50);
	preg_replace_callback('/\w+/', 'Burn\worded', 'one two');
	call_user_func_array(function (...$all) use ($list) {
		array_map(function ($n) use ($all) {
			array_map(function ($m) use ($n) {
				spin($n + $m);
			}, $all);
		}, $list);
	}, [50, 60]);
}

function turn_bare_callbacks()
{
	static $list = [], $sum = 0;
	$list = $list ?: range(1, 40);
	array_map('Burn\nothing', $list);
	array_map(fn($n) => $n, $list);
	array_filter($list, function ($n) {
		return $n & 1;
	});
	usort($list, function ($one, $other) {
		return $one - $other;
	});
	array_reduce($list, function ($sum, $n) {
		return $sum + $n;
	});
	preg_replace_callback('/\w/', function ($match) {
		return '';
	}, 'a bc');
	foreach ($list as $n) {
		nothing($n);
	}
}

// Their callbacks are in C, too.
function turn_functions_of_c()
{
	static $words = [];
	$words = $words ?: array_fill(0, 3000, 'burned');
	array_map('strtoupper', $words);
	array_map('ucfirst', $words);
	usort($words, 'strcmp');
	array_sum(array_map('strlen', $words));
	md5(implode(' ', $words));
	preg_match_all('/\w+/', implode(' ', $words), $found);
	$list = new \ArrayObject($words);
	$list->uasort('strcmp');
	str_repeat('burned', 20000);
}

function turn_reflection()
{
	$object = new By_name();
	$method = new \ReflectionMethod($object, 'named');
	$method->invoke($object, 100);
	$method->invokeArgs($object, [100]);
	(new \ReflectionFunction('Burn\spin'))->invoke(100);
	(new \ReflectionClass(Derived::class))->newInstance();
	$closure = $method->getClosure($object);
	$closure(100);
}

class Numbers implements \Iterator
{
	private $at = 0;

	#[\ReturnTypeWillChange]
	public function rewind()
	{
		spin(50);
		$this->at = 0;
	}

	#[\ReturnTypeWillChange]
	public function valid()
	{
		spin(50);
		return $this->at < 2;
	}

	#[\ReturnTypeWillChange]
	public function current()
	{
		spin(50);
		return $this->at;
	}

	#[\ReturnTypeWillChange]
	public function key()
	{
		spin(50);
		return $this->at;
	}

	#[\ReturnTypeWillChange]
	public function next()
	{
		spin(50);
		$this->at++;
	}
}

class Counted extends \ArrayIterator
{
	#[\ReturnTypeWillChange]
	public function current()
	{
		spin(100);
		return parent::current();
	}
}

function turn_iterators()
{
	foreach (new Numbers() as $key => $n) { //! rewind valid current key next
		spin(50);
	}
	foreach (new Counted([1, 2]) as $n) { //! current
		spin(50);
	}
	iterator_to_array(new Numbers());
	[...new Numbers()]; //! rewind valid current key next
}

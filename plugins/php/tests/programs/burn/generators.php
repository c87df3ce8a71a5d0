<?php
// SPDX-License-Identifier: Apache-2.0
namespace Burn;

function numbers($n)
{
	for ($i = 0; $i < $n; $i++) {
		spin(100);
		$got = yield $i => $i * 2;
	}
	return $n;
}

function resumed()
{
	try {
		while (true) {
			spin(50);
			$got = yield;
			spin(50 + $got);
		}
	} catch (\RuntimeException $error) {
		spin(100);
		yield 1;
	} finally {
		spin(100);
	}
}

function nested($left)
{
	foreach ($left > 0 ? nested($left - 1) : numbers(2) as $n) { //! nested numbers
		spin(50);
		yield $n;
	}
}

class Generates implements \IteratorAggregate
{
	#[\ReturnTypeWillChange]
	public function getIterator()
	{
		spin(50);
		yield 1;
		spin(50);
		yield 2;
	}
}

function turn_generators()
{
	foreach (numbers(2) as $n) { //! numbers
		spin(50);
	}
	$made = resumed();
	$made->current();
	$made->send(20);
	$made->next();
	$made->throw(new \RuntimeException('burned'));
	$made = null; //! resumed
	foreach (nested(3) as $n) { //! nested
		spin(50);
	}
	foreach (new Generates() as $n) { //! getIterator
		spin(50);
	}
	iterator_to_array(numbers(2));
	[...(fn() => yield from [spin(50)])()]; //! {closure}
}

function outer($left)
{
	spin(50);
	$n = yield from $left > 0 ? outer($left - 1) : inner();
	spin(50);
	return $n;
}

function inner()
{
	spin(100);
	yield 1;
	spin(100);
	yield 2;
	return 3;
}

function shared($one)
{
	yield from $one;
	spin(50);
}

function turn_delegation()
{
	foreach (outer(3) as $n) { //! outer inner
		spin(50);
	}
	$made = outer(1);
	$made->current();
	$made->next();
	$made->next();
	$one = inner();
	$first = shared($one);
	$second = shared($one);
	$first->current();
	$second->current();
	$first->next();
	$second->next();
	foreach ((function () {
		yield from new Numbers(); //! rewind valid current key next
	})() as $n) { //! {closure} //? rewind valid current key next
		spin(50);
	}
}

<?php
// SPDX-License-Identifier: Apache-2.0
// What PHP calls by itself.
namespace Burn;

class Magic
{
	public function __call($name, $arguments)
	{
		spin($arguments[0]);
	}

	public static function __callStatic($name, $arguments)
	{
		spin($arguments[0]);
	}

	public function __get($name)
	{
		spin(100);
		return 1;
	}

	public function turn()
	{
		$this->absent(100);
		self::of_nobody(100);
		Magic::of_nobody(100);
		$n = $this->property; //! __get
		call_user_func([$this, 'absent'], 100);
	}
}

function turn_magic()
{
	(new Magic())->turn();
}

class Bag implements \ArrayAccess, \Countable, \IteratorAggregate
{
	#[\ReturnTypeWillChange]
	public function offsetExists($key)
	{
		return true;
	}

	#[\ReturnTypeWillChange]
	public function offsetGet($key)
	{
		spin(100);
		return $key;
	}

	#[\ReturnTypeWillChange]
	public function offsetSet($key, $value)
	{
	}

	#[\ReturnTypeWillChange]
	public function offsetUnset($key)
	{
	}

	#[\ReturnTypeWillChange]
	public function count()
	{
		spin(100);
		return 1;
	}

	#[\ReturnTypeWillChange]
	public function getIterator()
	{
		spin(100);
		return new \ArrayIterator([1, 2]);
	}

	public function __clone()
	{
		spin(100);
	}
}

function turn_objects()
{
	$bag = new Bag();
	$n = $bag[1]; //! offsetGet
	\count($bag); //! count
	count($bag); //? count
	foreach ($bag as $n) { //! getIterator
		spin(50);
	}
	$other = clone $bag; //! __clone
}

class Text
{
	private $text = 'burned';

	public function __toString()
	{
		spin(100);
		return $this->text;
	}
}

function turn_casts()
{
	$text = new Text();
	$n = "$text and"; //! __toString
	$n = (string) $text; //! __toString
	$n = $text . 'more'; //! __toString
	$n = strtoupper($text);
}

<?php
// SPDX-License-Identifier: Apache-2.0
// PHP 8.1 and newer: fibers, first class callables, enums, what is read only.
namespace Burn;

class Fibers
{
	private static $kept = null;

	public static function forever()
	{
		while (true) {
			spin(100);
			\Fiber::suspend();
			self::suspends();
		}
	}

	private static function suspends()
	{
		array_map(function ($n) {
			spin($n);
			\Fiber::suspend($n);
			spin($n);
		}, [100]);
	}

	public static function resume()
	{
		self::$kept ??= new \Fiber(self::forever(...));
		self::$kept->isStarted() ? self::$kept->resume() : self::$kept->start();
	}

	public static function generates()
	{
		spin(50);
		yield 1;
		\Fiber::suspend();
		spin(50);
		yield 2;
	}

	public static function turn()
	{
		$fiber = new \Fiber(function ($n) {
			spin($n);
			try {
				\Fiber::suspend();
			} catch (\RuntimeException $error) {
				spin(100);
			} finally {
				spin(100);
			}
		});
		$fiber->start(100);
		$fiber->throw(new \RuntimeException('burned'));
		$fiber = new \Fiber('Burn\spin');
		$fiber->start(100);
		$fiber = new \Fiber(function () {
			foreach (self::generates() as $n) { //! generates
				spin(50);
			}
		});
		$fiber->start();
		$fiber->resume();
	}

	public static function nest($left)
	{
		if ($left < 1) {
			spin(2000);
			return;
		}
		$fiber = new \Fiber([self::class, 'nest']);
		$fiber->start($left - 1);
	}
}

function turn_fibers()
{
	Fibers::turn();
	Fibers::resume();
	Fibers::resume();
}

function turn_fibers16()
{
	Fibers::nest(16);
}

enum Suit: int
{
	case One = 1;
	case Two = 2;

	const FIRST = self::One;

	public function burn(): void
	{
		spin($this->value + 100);
	}

	public static function first(): self
	{
		spin(50);
		return self::FIRST;
	}
}

final class Kept
{
	public function __construct(public readonly int $n)
	{
		spin(50);
	}

	public function spun(): void
	{
		spin($this->n);
	}
}

function turn_enums()
{
	Suit::from(2)->burn();
	Suit::first()->burn();
	$spin = spin(...);
	$spin(100);
	$spun = (new Kept(100))->spun(...);
	$spun();
	array_map(Suit::first(...), []);
	array_map((new Kept(100))->spun(...), [1]);
}

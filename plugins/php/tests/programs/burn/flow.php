<?php
// SPDX-License-Identifier: Apache-2.0
// What leaves frames otherwise than by return, and what comes in between; memory.
namespace Burn;

class Flow
{
	private function fails($n)
	{
		spin(50);
		throw new \RuntimeException("burned $n");
	}

	private function caught()
	{
		try {
			$this->fails(1);
		} catch (\LogicException $error) {
			never();
		} catch (\RuntimeException $error) {
			spin(100);
		} finally {
			spin(100);
		}
	}

	private function through_c()
	{
		try {
			array_map(function ($n) {
				try {
					$this->fails($n);
				} finally {
					spin(100);
				}
			}, [1, 2]);
		} catch (\RuntimeException $error) {
			spin(100);
		}
	}

	private function nested()
	{
		try {
			try {
				$this->fails(1);
			} finally {
				try {
					$this->fails(2);
				} catch (\RuntimeException $error) {
					spin(50);
				}
			}
		} catch (\RuntimeException $error) {
			spin(50);
		}
	}

	private function returns()
	{
		foreach ([1, 2] as $n) {
			try {
				return spin(50);
			} finally {
				spin(50);
			}
		}
	}

	public function turn()
	{
		$this->caught();
		$this->through_c();
		$this->nested();
		$this->returns();
	}
}

function turn_flow()
{
	(new Flow())->turn();
}

function handled($number, $text)
{
	spin(100);
	return true;
}

function turn_errors()
{
	set_error_handler('Burn\handled');
	trigger_error('burned');
	$n = $undefined . ''; //! handled
	$n = [1][2]; //! handled
	restore_error_handler();
}

class Mortal
{
	public function __destruct()
	{
		spin(100);
	}
}

function leaves()
{
	$mortal = new Mortal();
	return 1;
}

function dropped(Mortal $mortal)
{
	return 1;
}

function turn_destructors()
{
	$mortal = new Mortal();
	$mortal = null; //! __destruct
	$mortal = new Mortal();
	unset($mortal); //! __destruct
	leaves(); //! __destruct
	dropped(new Mortal()); //! __destruct
	new Mortal(); //! __destruct
	$list = [new Mortal(), new Mortal()];
	array_pop($list); //? __destruct
	$list = []; //! __destruct
	(function () {
		$mortal = new Mortal();
	})(); //! __destruct
}

function on_tick()
{
	spin(100);
}

require __DIR__ . '/ticks.php';

function on_signal($number)
{
	spin(300);
}

if (!function_exists('posix_kill') && function_exists('dl') && PHP_SAPI !== 'embed') {
	@dl('posix');
}
if (PHP_ZTS) {
	State::$missing['signals'] = 'they come to any thread';
} elseif (!function_exists('posix_kill') || !function_exists('pcntl_async_signals')) {
	State::$missing['signals'] = 'no extension pcntl or posix';
} else {
	pcntl_async_signals(true);
	pcntl_signal(10, 'Burn\on_signal');
	say('ANYWHERE', 'Burn\on_signal');
}

function turn_signals()
{
	posix_kill(getmypid(), 10);
	spin(1000);
}

function turn_allocation()
{
	$texts = [];
	for ($n = 0; $n < 200; $n++) {
		$texts[] = str_repeat("burned $n", 3);
	}
	return explode(' ', implode(' ', $texts));
}

<?php
// SPDX-License-Identifier: Apache-2.0
// Functions and methods that call others: plainly, by name, as closures.
namespace Burn;

function first($n)
{
	second($n, 1, 2);
	return $n;
}

function second($one, $two = 1, ...$rest)
{
	spin($one + $two);
	\Burn\third(['of' => $one + count($rest)]);
}

function third(array $named)
{
	static $kept = 0;
	$kept = $kept + 1 & 7;
	spin($named['of'] + $kept);
}

function turn_plain()
{
	first(150);
	third(['of' => 100]);
}

// Nothing in it needs its place to be stored: a JIT never does.
function loops($n)
{
	for ($i = 0, $x = $n; $i < $n; $i++) {
		$x = $x * 3 + $i & 0xffff;
	}
	return $x;
}

function turn_loops()
{
	return loops(3000) + loops(2000);
}

class Base
{
	protected $n = 100;

	public function inherit($n)
	{
		spin($n);
	}

	public static function make()
	{
		return static::made_by(new static());
	}

	protected static function made_by($made)
	{
		spin($made->n);
		return $made;
	}

	public function only_here()
	{
		spin($this->n);
	}
}

trait Mixed_in
{
	public function mixed($n)
	{
		spin($n);
		return $this->inherit($n);
	}

	public static function of_trait($n)
	{
		spin($n);
	}

	public function renamed($n)
	{
		spin($n);
	}
}

class Derived extends Base
{
	use Mixed_in {
		renamed as once_more;
	}

	public function __construct()
	{
		spin(50);
	}

	public function inherit($n)
	{
		parent::inherit($n);
		self::made_by($this);
	}
}

final class Last extends Derived
{
}

function turn_inherited()
{
	$made = Last::make();
	$made->inherit(100);
	$made->mixed(100);
	$made->once_more(100);
	$made->only_here();
	Derived::of_trait(100);
	$nameless = new class extends Base {
		public function without_name($n)
		{
			spin($n);
			$this->inherit($n);
		}
	};
	$nameless->without_name(100);
}

class Closures
{
	private $n = 50;

	// Each turn makes new objects of the same code.
	public function turn()
	{
		$made = function ($n) {
			spin($n + $this->n);
		};
		$made(100);
		$of_none = static function ($n) use (&$of_none) {
			return $n > 1 ? $of_none($n - 1) : spin(100);
		};
		$of_none(3);
		$short = fn($n) => spin($n + $this->n);
		$short(100);
		(function () {
			$inner = function () {
				spin(100);
			};
			$inner();
		})();
		$other = \Closure::bind($of_none, null, Base::class);
		$other(2);
		$made->call(new self(), 100);
		(clone $made)(100);
		return $made;
	}
}

function turn_closures()
{
	static $kept = null;
	$kept = $kept ?? (new Closures())->turn();
	$kept(100);
	(new Closures())->turn();
}

class By_name
{
	public function named($n)
	{
		spin($n);
	}

	public static function of_class($n)
	{
		spin($n);
	}

	public function __invoke($n)
	{
		spin($n);
	}
}

function turn_by_name()
{
	$object = new By_name();
	$name = 'named';
	$object->$name(100);
	[$object, 'named'](100);
	$function = 'Burn\By_name::of_class';
	$function(100);
	$object(100);
	call_user_func('Burn\spin', 100);
	\call_user_func('Burn\spin', 100);
	call_user_func_array([$object, 'named'], [100]);
	\call_user_func_array([$object, 'named'], [100]);
	call_user_func($object, 100);
	$callable = \Closure::fromCallable([$object, 'named']);
	$callable(100);
	$callable = \Closure::fromCallable('Burn\spin');
	$callable(100);
}

// A function of a text stays.
eval('namespace Burn;
function of_text($n)
{
	spin($n);
	$inner = function ($n) {
		spin($n);
	};
	$inner($n);
}
class Of_text
{
	public function method($n)
	{
		spin($n);
	}
}');

function turn_kept_texts()
{
	of_text(100);
	(new Of_text())->method(100);
}

class Ünïcode
{
	public function größe($n)
	{
		spin($n);
	}
}

function turn_characters()
{
	(new Ünïcode())->größe(200);
}

function deeper($n)
{
	return $n > 0 ? deeper($n - 1) : spin(2000);
}

function turn_deep1000()
{
	deeper(1000);
}

function turns($n)
{
	return $n > 0 ? array_reduce([$n], 'Burn\turned', 0) : spin(2000);
}

function turned($_, $n)
{
	return turns($n - 1);
}

function turn_turns64()
{
	turns(64);
}

<?php
// SPDX-License-Identifier: Apache-2.0
// PHP 8.4 and newer: property hooks, functions in C that are called without a frame.
namespace Burn;

class Hooked
{
	public int $computed {
		get {
			spin(100);
			return 1;
		}
	}

	public int $stored = 1 {
		get => $this->stored + (spin(50) & 1);
		set {
			spin(100);
			$this->stored = $value;
		}
	}

	public function turn()
	{
		$n = $this->computed; //? get
		$this->stored = $n; //! set
		return $this->stored; //? get
	}
}

function turn_hooks()
{
	static $kept = null;
	$kept = $kept ?? new Hooked();
	$kept->turn();
	(new Hooked())->turn();
}

function turn_frameless()
{
	static $list = [], $texts = [];
	$list = $list ?: range(1, 3000);
	$texts = $texts ?: [new Text(), new Text()];
	\in_array(3001, $list);
	\implode(',', $list);
	\implode(',', $texts);
	\str_replace('a', 'b', $texts);
	\class_exists('Burn\Absent');
	return \strpos(\implode(' ', $list), 'x');
}

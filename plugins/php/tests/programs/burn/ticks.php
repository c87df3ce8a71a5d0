<?php
// SPDX-License-Identifier: Apache-2.0
declare(ticks=1);
namespace Burn;

function turn_ticks()
{
	register_tick_function('Burn\on_tick'); //! on_tick
	$n = 1; //! on_tick
	$n += 2; //! on_tick
	spin($n * 10); //! on_tick
	unregister_tick_function('Burn\on_tick');
}

<?php
// SPDX-License-Identifier: Apache-2.0
// depth.php one|many|closures DEPTH: prints "ready", then spends its time below so many frames: of one function that calls
// itself, of sixteen in turn, or of one closure whose object is another one each time.

function spin()
{
	fwrite(STDOUT, "ready\n");
	for ($x = 0; true; $x++);
}

function one($left)
{
	return $left > 1 ? 1 + one($left - 1) : spin();
}

for ($i = 0; $i < 16; $i++) {
	$next = ($i + 1) % 16;
	eval("function many$i(\$left)\n{\n\treturn \$left > 1 ? 1 + many$next(\$left - 1) : spin();\n}");
}

function closures($left)
{
	$down = function ($left) use (&$down) {
		return $left > 1 ? 1 + (clone $down)($left - 1) : spin();
	};
	return $down($left - 1);
}

['one' => 'one', 'many' => 'many0', 'closures' => 'closures'][$argv[1]]((int) $argv[2]);

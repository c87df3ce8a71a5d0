<?php
// SPDX-License-Identifier: Apache-2.0
//
// A stack of PHP functions and C functions that is deeper than what BPF walks in one run.
//
//	climb.php SECONDS [REST]
//
// Prints which stack its time is spent in; the grammar is in tests/kit/stacks.py. Rests first, so long as it may
// take to attach to it. Uses no extension: a guest has none (-n).

const TURNS = 8;	// of a function in C that calls back: C is between them
const CALLS = 20;	// functions in each
const C = 'zend_*|zif_*|*_function|*+0x*+';

function spin()
{
	for ($x = 0, $i = 0; $i < 100000; $i++) {
		$x += $i;
	}
	return $x;
}

function climb($left)
{
	if ($left % CALLS != 0) {
		return climb($left - 1);
	}
	return $left == 0 ? spin() : array_map('climb', [$left - 1]);
}

function run($seconds)
{
	$finish = microtime(true) + $seconds;
	while (microtime(true) < $finish) {
		climb(CALLS * TURNS - 1);
	}
}

$turn = 'climb{' . CALLS . '}';
echo 'STACK ?', C, " spin $turn", str_repeat(' ' . C . " array_map $turn", TURNS - 1), " run {main} ...\n";
echo "MAY ... php_module_startup|php_request_startup ...\n";	// its start, which is long in an emulated machine
usleep((int) (($argv[2] ?? 0) * 1e6));
run((float) $argv[1]);
$used = getrusage();
printf("CPU %.3f\n", $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'] +
	($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6);

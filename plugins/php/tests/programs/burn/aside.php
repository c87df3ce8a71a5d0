<?php
// SPDX-License-Identifier: Apache-2.0
// Code that is freed when it has run, and other processes.
namespace Burn;

function turn_fleeting()
{
	include __DIR__ . '/later.php';
	require __DIR__ . '/later.php';
}

function turn_texts()
{
	eval('\Burn\spin(500);
	\Burn\spin(500);');
	eval('$made = function ($n) { \Burn\spin($n); };
	$made(500);');
}

if (!function_exists('pcntl_fork')) {
	State::$missing['forks'] = 'no extension pcntl';
}

function turn_forks()
{
	$pid = pcntl_fork();
	if ($pid == 0) {
		for ($i = 0; $i < 20; $i++) {
			spin(5000);
		}
		posix_kill(getmypid(), 9);
	}
	say('FORKED', $pid);
	pcntl_waitpid($pid, $status);
}

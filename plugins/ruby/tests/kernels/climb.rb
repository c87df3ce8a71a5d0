# SPDX-License-Identifier: Apache-2.0
#
# A stack of Ruby methods, blocks and C functions that is deeper than what BPF walks in one run.
#
#	climb.rb SECONDS [REST]
#
# Prints which stack its time is spent in; the grammar is in tests/kit/stacks.py. Rests first, so long as it may
# take to attach to it. Uses no library: a guest has none (--disable=gems).

TURNS = 8	# of a C function that calls a block: C is between them
CALLS = 20	# methods in each
C = 'rb_*|vm_*|*+0x*+'

def spin
	x = 0
	i = 0
	while i < 100_000
		i += 1
		x += i
	end
	x
end

def climb(left)
	return climb(left - 1) if left % CALLS != 0
	return spin if left == 0
	[left].each { |n| climb(n - 1) }
end

def run(seconds)
	finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
	climb(CALLS * TURNS - 1) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
end

turn = "Object#climb{#{CALLS}}"
rests = " block*climb #{C} Array#each #{turn}" * (TURNS - 1)
$stdout.sync = true
puts "STACK ?#{C} Object#spin #{turn}#{rests} Object#run <main> ..."
puts 'MAY ... ruby_init|ruby_options ...' # its start, which is long in an emulated machine
sleep ARGV[1].to_f if ARGV[1]
run(ARGV[0].to_f)
times = Process.times
puts format('CPU %.3f', times.utime + times.stime)

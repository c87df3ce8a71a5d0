# SPDX-License-Identifier: Apache-2.0
# stand.rb [collect|fiber]: stays in a stack with one of each: methods of a class, a module and a singleton, blocks,
# define_method, eval, rescue, ensure, functions of C, recursion; in the collector; or in an Enumerator's fiber. It comes
# there often, so that a JIT compiles it. For Ruby 2.7 and newer.

WHAT = { 'collect' => -> { GC.start(full_mark: true) }, 'fiber' => nil }[ARGV[0]]
KEPT = Array.new(ARGV[0] == 'collect' ? 200_000 : 0) { |n| n.to_s }

def spin
	x = 0
	i = 0
	while i < 10_000
		x += i
		i += 1
	end
	x
end

def stand(left)
	while left != 0
		left -= 1
		WHAT ? WHAT.call : spin
	end
end

module Down
	def down(turns, left)
		left > 1 ? down(turns, left - 1) : stand(turns)
	end
end

class Box
	include Down

	class << self
		def make(turns)
			new.contents(turns)
		end
	end

	define_method(:contents) do |turns|
		[turns].each { |n| in_rescue(n) }
	end

	def in_rescue(turns)
		raise ArgumentError, 'one'
	rescue ArgumentError
		in_ensure(turns)
	end

	def in_ensure(turns)
		catch(:done) { throw :done }
	ensure
		[2, 1].sort_by { |n| down(turns, 3) if n == 1 }
	end
end

def by_name(turns)
	eval("# one line\nBox.make(turns)", binding)
end

def start(turns)
	return by_name(turns) unless ARGV[0] == 'fiber'
	made = Enumerator.new { |to| to << by_name(turns) }
	made.next
end

30.times { start(1) }
$stdout.syswrite("READY\n")
start(-1)

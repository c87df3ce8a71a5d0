# SPDX-License-Identifier: Apache-2.0
# depth.rb one|many|blocks DEPTH: prints "ready", then spends its time below so many frames: of one method that calls
# itself, of sixteen in turn, or of one with four blocks, one in the other, and a method that yields to each.

def spin
	$stdout.syswrite("ready\n")
	x = 0
	x += 1 while true
end

def one(left)
	left > 1 ? 1 + one(left - 1) : spin
end

16.times do |i|
	eval "def many#{i}(left); left > 1 ? 1 + many#{(i + 1) % 16}(left - 1) : spin; end"
end

def pass
	1 + yield
end

def blocks(left)
	left > 8 ? pass { pass { pass { pass { blocks(left - 9) } } } } : spin
end

{ 'one' => :one, 'many' => :many0, 'blocks' => :blocks }.then { |down| send(down[ARGV[0]], ARGV[1].to_i) }

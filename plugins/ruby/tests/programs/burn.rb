# SPDX-License-Identifier: Apache-2.0
# What all scenarios share: the leaf that burns, and what Ruby itself says of a stack.
#
# A comment "#! NAME" behind a call says that what it calls by that name is called through C without a frame of that C
# function's; "#? NAME" that it may be. What else a Ruby method calls is called by the same run of the VM.
module Burn
	Scenario = Struct.new(:name, :turn, :missing)
	SCENARIOS = {}
	REPORTED = {}
	CALLED = {}
	$stdout.sync = true
	$observing = false
	$scenario = 'driver'
	$sink = 0

	# A scenario's turn takes some milliseconds at most. missing: why this Ruby has not got it, or nil.
	def self.scenario(name, missing = nil, &turn)
		SCENARIOS[name.to_s] = Scenario.new(name.to_s, turn, missing)
	end

	# A JIT's code is done sooner, and threads and calls are not.
	TIMES = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? 8 : 1

	# Some microseconds for each hundred rounds.
	def self.spin(rounds)
		rounds *= TIMES
		x = rounds | 1
		i = 0
		while i < rounds
			x = (x * 1664525 + i) & 0xffffffff
			x ^= x >> 15
			i += 1
		end
		$sink = x
	end

	# A line STACK SCENARIO LABEL|FILE|LINE|TIMES..., leaf first, for each that was not there before: labels of this
	# release, TIMES tells how many such frames are in a row. Of functions of C file and line are their caller's.
	def self.seen
		stack = frames_of(caller_locations.drop_while { |l| l.base_label !~ /trace\z/ }.drop(1))
		say('STACK', $scenario, *stack) unless REPORTED[stack]
		REPORTED[stack] = true
	end

	def self.frames_of(locations)
		frames = locations.map { |l| [l.label, l.absolute_path || l.path, l.lineno].join('|') }
		frames.chunk_while { |a, b| a == b }.map { |same| "#{same[0]}|#{same.size}" }
	end

	# Whole, whichever processes and threads write.
	def self.say(*words)
		$stdout.write(words.join("\t") + "\n")
	end

	# As 3.4 writes it.
	def self.qualified(owner, method)
		name = Module.instance_method(:inspect).bind(owner).call
		return "#{$1}.#{method}" if name =~ /\A#<Class:([[:upper:]][[:word:]:]*)>\z/
		name =~ /\A[[:upper:]][[:word:]:]*\z/ ? "#{name}##{method}" : method.to_s
	end

	# Which methods run, and all stacks that have a method or block at the leaf; of a recursion the deepest ones.
	def self.trace
		TracePoint.new(:call, :c_call, :b_call) do |point|
			next unless $observing
			CALLED[called(point)] = true if point.event != :b_call
			seen if point.event != :c_call && point.method_id != :deeper
		end
	end

	def self.called(point)
		of_c = point.event == :c_call || point.path.start_with?('<internal:')
		[of_c ? 'C' : 'Ruby', qualified(point.defined_class, point.method_id), point.method_id,
		 of_c ? '' : point.path]
	end

	# Lines CALLED KIND NAME METHOD FILE, and LINES LABEL FILE LINE... of all code that is in files.
	def self.tell
		CALLED.each_key { |words| say('CALLED', *words) }
		Encoding.default_external = Encoding::UTF_8
		codes = Dir[File.join(__dir__, '{*,burn/*}.rb')].map { |file| RubyVM::InstructionSequence.compile_file(file) }
		codes << RubyVM::InstructionSequence.of(Long.instance_method(:long))
		codes.each { |code| tell_lines(code) }
	end

	def self.tell_lines(code)
		lines = code.to_a.last.grep(Integer).uniq
		say('LINES', code.label, code.absolute_path || code.path, *lines)
		code.each_child { |inner| tell_lines(inner) }
	end

	# Never called: a name that no profile may have.
	def self.never
		spin(1) + spin(2)
	end
end

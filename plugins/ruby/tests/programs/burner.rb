# SPDX-License-Identifier: Apache-2.0
# burner.rb SECONDS [--observe] [--threads=N] [--only=NAME,...] [--but=NAME,...]
#
# Burns CPU time in stacks that it knows: each scenario in turn, for a slice of time. Prints lines of words, with tabs
# between:
#
#	STACK SCENARIO FRAME...		--observe: burn.rb explains it; each scenario has one turn
#	CALLED C|Ruby NAME METHOD FILE	--observe: a method that ran, its name as 3.4 writes it
#	LINES LABEL FILE LINE...	--observe: where code with this label is
#	ANYWHERE LABEL			it may be called from any line
#	MISSING SCENARIO WHY		a scenario that this Ruby has not
#	FORKED PID			a process that it made
#	STARTED SECONDS			CPU time until the first scenario
#	WORK SCENARIO SECONDS TURNS	CPU time and turns of a scenario
#	GC SECONDS			what GC.total_time says (3.1 on)
#	CPU SECONDS			what the process and its children have used, in the end
#
# fleeting, texts and ractors are in no run that does not name them: code of the first two is freed at once, and the
# VM is another one when it has had ractors.
require_relative 'burn'
%w[calls names blocks flow memory aside].each { |name| require_relative "burn/#{name}" }

SLICE = 0.015
OBSERVE = ARGV.include?('--observe')

class Driver
	def initialize(arguments)
		@seconds = Float(arguments.shift)
		@options = { 'but' => 'fleeting,texts,ractors,forks' }
		arguments.each { |word| @options.store(*word.match(/\A--(\w+)=?(.*)\z/)[1, 2]) }
		@work = Hash.new { |work, name| work[name] = [0.0, 0] }
	end

	def chosen
		only, but = %w[only but].map { |key| (@options[key] || '').split(',') }
		found = Burn::SCENARIOS.values.select { |s| only.empty? ? !but.include?(s.name) : only.include?(s.name) }
		found.select(&:missing).each { |s| Burn.say('MISSING', s.name, s.missing) }
		found.reject(&:missing)
	end

	# With what threads of a scenario use.
	def used
		Process.clock_gettime(@options['threads'] ? Process::CLOCK_THREAD_CPUTIME_ID : Process::CLOCK_PROCESS_CPUTIME_ID)
	end

	def now
		Process.clock_gettime(Process::CLOCK_MONOTONIC)
	end

	def slice(scenario)
		began, turns = used, 0
		finish = now + SLICE
		loop do
			turns += 1
			scenario.turn.call
			break if now >= finish || $observing
		end
		@work[scenario.name][0] += used - began #?
		@work[scenario.name][1] += turns #?
	end

	def drive(scenarios)
		finish = now + @seconds
		begin
			scenarios.each do |scenario|
				$scenario = scenario.name
				slice(scenario)
			end
		end while now < finish && !$observing
	end

	def run
		Burn.say('STARTED', Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID))
		scenarios = chosen
		threads = Array.new(@options['threads'].to_i) do
			thread = Thread.new { drive(scenarios - [Burn::SCENARIOS['signals']]) }
			OBSERVE ? thread.join : thread	# lines of two would be mixed
		end
		drive(scenarios)
		threads.each(&:join)
		@work.each { |name, (seconds, turns)| Burn.say('WORK', name, seconds, turns) }
		Burn.never if @seconds < 0
	end
end

at_exit do
	times = Process.times
	Burn.say('GC', GC.total_time / 1e9) if GC.respond_to?(:total_time)
	Burn.say('CPU', times.utime + times.stime + times.cutime + times.cstime)
	$observing = false
	Burn.tell if OBSERVE
end
at_exit do
	$scenario = 'at_exit'
	10.times { Burn.spin(2000) }
end
if OBSERVE
	Burn.trace.enable
	$observing = true
end
Driver.new(ARGV).run

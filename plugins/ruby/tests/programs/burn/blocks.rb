# SPDX-License-Identifier: Apache-2.0
# Blocks that functions of C call, for long and for nothing; fibers; threads.
module Burn
	class Numbers
		include Enumerable

		def each
			yield 100 #?
			yield 200 #?
		end
	end

	# Called at a high rate: there is hardly a moment in which it runs.
	def self.nothing(n = 0)
		n
	end

	LIST = (1..20).to_a
	WORDS = 'a bc def ghij klmno pqr stu' * 3

	scenario(:blocks) do
		[100, 200].each { |n| Burn.spin(n) }
		[100, 200].map { |n| Burn.spin(n) }
		[3, 1, 2].sort_by { |n| Burn.spin(n * 100) }
		[1, 2, 3].inject { |a, n| Burn.spin(a % 100 + n) }
		3.times { |n| Burn.spin(n * 100) }
		1.upto(2) { |n| Burn.spin(n * 100) }
		{ 1 => 2 }.each { |key, value| Burn.spin(key + value) }
		{ 1 => 2 }.each_with_object([]) { |_, list| Burn.spin(list.size + 100) }
		Numbers.new.map { |n| Burn.spin(n) }
		Numbers.new.each_slice(2) { |a, b| Burn.spin(a + b) }
		Numbers.new.sort_by { |n| Burn.spin(n) }
		'a b'.gsub(/\w/) { |word| Burn.spin(word.size * 100).to_s }
		[200].tap { |list| Burn.spin(list[0]) }
		Hash.new { |_, key| Burn.spin(key) }[200] #?
	end
	scenario(:callbacks) do
		LIST.each { |n| Burn.nothing(n) }
		LIST.map { |n| Burn.nothing(n) }
		LIST.sort_by { |n| Burn.nothing(-n) }
		LIST.sort { |a, b| Burn.nothing(b) <=> a }
		LIST.inject { |a, n| a + Burn.nothing(n) }
		LIST.each_with_index { |n, i| Burn.nothing(n + i) }
		LIST.each(&method(:nothing))
		50.times { |n| Burn.nothing(n) }
		WORDS.scan(/\w+/) { |_| Burn.nothing }
	end
	scenario(:bare_callbacks) do
		LIST.each { |n| n }
		LIST.map { |n| n + 1 }
		LIST.sort_by { |n| -n }
		LIST.select { |n| n > 3 }
		LIST.inject { |a, n| a + n }
		100.times { |n| n }
	end
	scenario(:levels) do
		[1].each { [2].each { [3].each { |n| Burn.spin(n * 100) } } }
		-> { -> { Burn.spin(300) }.call }.call
	end

	class Fibers
		FOREVER = Fiber.new do
			loop do
				Burn.spin(300)
				Fiber.yield
			end
		end

		def self.generate
			Enumerator.new do |out|
				3.times do |n|
					Burn.spin(200)
					out << n
				end
			end
		end

		def self.inside
			Fiber.new { Fiber.new { Burn.spin(300) }.resume }.resume
		end

		def self.in_fibers
			list = generate
			list.next
			list.next
			list.each { |n| Burn.spin(n + 100) }
			list.lazy.map { |n| Burn.spin(n + 100) }.first(2)
			[1, 2].each.next
			inside
		end
	end
	# A fiber is one thread's.
	scenario(:fibers) { Fibers.in_fibers }
	scenario(:kept_fiber) { Fibers::FOREVER.resume if Thread.current == Thread.main }

	class Threads
		def self.in_threads
			lock = Mutex.new
			list = Array.new(2) { |n| Thread.new(n) { |i| lock.synchronize { Burn.spin(4000 + i) } } }
			list.each(&:join)
			queue = Queue.new
			thread = Thread.new { Burn.spin(queue.pop) }
			queue << 4000 # more than threads cost
			thread.value
		end
	end
	scenario(:threads) { Threads.in_threads }

	# Each thread by its own. What it has seen the main one says.
	class Ractors
		def self.apart(rounds, observing)
			x = 1
			i = 0
			while i < rounds
				x = (x * 1664525 + i) & 0xffffffff
				i += 1
			end
			observing ? caller_locations(0).map { |l| [l.label, l.absolute_path || l.path, l.lineno].join('|') } : x
		end

		def self.in_ractors
			list = Array.new(2) { Ractor.new($observing) { |observing| Ractors.apart(50_000, observing) } }
			found = list.map { |one| one.respond_to?(:value) ? one.value : one.take }
			Burn.say('STACK', 'ractors', *found[0].map { |frame| "#{frame}|1" }) if $observing
			apart(100, false)
		end
	end
	scenario(:ractors, defined?(Ractor) ? nil : 'no Ractor') { Ractors.in_ractors }
end
Warning[:experimental] = false if Warning.respond_to?(:[]=)

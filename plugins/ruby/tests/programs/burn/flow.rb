# SPDX-License-Identifier: Apache-2.0
# What leaves frames otherwise than by return.
module Burn
	class Flow
		def rescued
			Burn.spin(100)
			raise ArgumentError, 'burned'
		rescue ArgumentError
			Burn.spin(200)
			[1].each { |n| Burn.spin(n + 100) }
		else
			Burn.spin(1)
		ensure
			Burn.spin(150)
		end

		def inner_ensure
			yield
		ensure
			Burn.spin(150)
		end

		def through_c
			[1, 2].each do |n|
				inner_ensure { Integer("x#{n}") }
			end
		rescue ArgumentError => error
			Burn.spin(error.message.size)
		end

		def nested
			begin
				begin
					raise 'inner'
				rescue RuntimeError
					Burn.spin(100)
					raise 'outer'
				ensure
					Burn.spin(100)
				end
			rescue RuntimeError
				Burn.spin(100)
			end
		end

		def retried
			tries = 0
			begin
				tries += 1
				Burn.spin(100)
				raise 'again' if tries < 3
			rescue RuntimeError
				retry
			end
		end

		def in_block
			[1].each do |n|
				begin
					raise 'in block'
				rescue RuntimeError
					Burn.spin(n + 100)
				ensure
					Burn.spin(n + 150)
				end
			end
		end

		def thrown
			catch(:done) do
				[1, 2].each { |n| inner_ensure { throw :done, n } }
			end
			Burn.spin(100)
		end

		def broken
			[1, 2, 3].each { |n| inner_ensure { break } if n == 2 }
			[1, 2].map { |n| break Burn.spin(n + 100) }
		end

		def returned
			[1, 2].each { |n| return Burn.spin(n + 100) if n == 2 }
		end

		def stopped
			list = [1, 2].each
			loop { Burn.spin(100 + list.next) }
		end

		def modified
			Integer('burned') rescue Burn.spin(200)
		end

		def turn
			rescued
			through_c
			nested
			retried
			in_block
			thrown
			broken
			returned
			stopped
			modified
		end
	end
	scenario(:flow) { Flow.new.turn }

	class Signals
		def self.handled(number)
			Burn.spin(300 + number)
		end

		def self.turn_on
			trap('USR2') { |number| Signals.handled(number) }
		end

		def self.in_signals
			turn_on
			Process.kill('USR2', Process.pid)
			Burn.spin(1000)
		end
	end
	say('ANYWHERE', "block in #{RUBY_VERSION < '3.4' ? '' : 'Burn::Signals.'}turn_on")
	scenario(:signals) { Signals.in_signals }
end

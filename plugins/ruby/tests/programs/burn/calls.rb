# SPDX-License-Identifier: Apache-2.0
# Methods that call methods: plainly, by C, by name, by what is missing.
module Burn
	class Plain
		def turn
			first(3)
			second(1, 2, last: 3) { |n| Burn.spin(n) }
		end

		def first(n)
			third(n)
			n
		end

		def second(one, two = 1, *rest, last: nil, **more)
			third(one)
			yield 300
		end

		def third(n)
			Burn.spin(300 + n)
		end
	end

	class Base
		def inherit(n)
			Burn.spin(n)
		end
	end

	module Mixed
		def inherit(n)
			super(n + 1)
		end

		def mixed_in
			Burn.spin(200)
		end

		def self.own(n)
			Burn.spin(n)
		end
	end

	class Derived < Base
		include Mixed

		def inherit(n)
			super
			mixed_in
		end

		class << self
			def of_class(n)
				Burn.spin(n)
			end

			attr_accessor :kept
		end
	end

	module Before
		def inherit(n)
			Burn.spin(n)
			super
		end
	end

	class Prepended < Derived
		prepend Before
	end

	class Missing
		def method_missing(name, *args)
			return super unless name == :absent
			Burn.spin(args[0])
		end

		def respond_to_missing?(name, all = false)
			name == :absent
		end

		def self.const_missing(name)
			Burn.spin(300)
			name
		end

		def miss
			absent(300) #? method_missing
			respond_to?(:absent)
			Absent #! const_missing
		end
	end

	class Operators
		include Comparable
		attr_reader :n

		def initialize(n)
			Burn.spin(50)
			@n = n
		end

		def <=>(other)
			Burn.spin(100)
			n <=> other.n
		end

		def +(other)
			Burn.spin(100)
			n + other
		end

		def coerce(other)
			Burn.spin(100)
			[other, n]
		end

		def to_s
			Burn.spin(100)
			'operators'
		end

		def hash
			Burn.spin(100)
			n
		end

		def eql?(other)
			Burn.spin(100)
			n == other.n
		end

		def [](at)
			Burn.spin(100)
			at
		end

		def operate
			other = Operators.new(2)
			self < other
			self + 1
			1 + self #? coerce
			"#{self} #{other}"
			self[1]
			{ self => 1 }[other] #? hash eql?
			[other, self].uniq
		end
	end

	scenario(:plain) { Plain.new.turn }
	scenario(:inherited) do
		Derived.new.inherit(300)
		Prepended.new.inherit(300)
	end
	ONE = Object.new
	class << ONE
		def of_one(n)
			Burn.spin(n)
		end
	end
	ONE.extend(Mixed)
	scenario(:singletons) do
		Derived.of_class(300)
		Mixed.own(300)
		ONE.of_one(300)
		ONE.mixed_in
	end
	scenario(:missing) { Missing.new.miss }
	scenario(:operators) { Operators.new(1).operate }

	class ByName
		def named(n)
			Burn.spin(n)
		end

		alias renamed named
		alias_method :once_more, :named
		define_method(:defined) { |n| Burn.spin(n) }
		define_method(:of_method, instance_method(:named))
		KEPT = instance_method(:named)

		def by_name
			send(:named, 300)
			public_send(:named, 300)
			__send__(:renamed, 300)
			once_more(300)
			defined(300) #?
			of_method(300)
			method(:named).call(300)
			KEPT.bind(self).call(300)
			[300].each(&method(:named))
			[self].each(&:simple)
			instance_exec(300) { |n| named(n) }
		end

		def simple
			Burn.spin(200)
		end
	end
	scenario(:by_name) { ByName.new.by_name }

	class Deep
		def deeper(n)
			return Burn.spin(1500) if n.zero?
			deeper(n - 1)
		end

		def turns(n)
			return Burn.spin(1500) if n.zero?
			[n].each { |m| turns(m - 1) }
		end
	end
	scenario(:deep1000) { Deep.new.deeper(1000) }
	scenario(:turns64) { Deep.new.turns(64) }
end

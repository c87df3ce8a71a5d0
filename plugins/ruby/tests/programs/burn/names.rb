# SPDX-License-Identifier: Apache-2.0
# Code whose name is not plain: texts, refinements, classes without names, long tables.
module Burn
	module Outer
		module Inner
			class Leaf
				def nested(n)
					Burn.spin(n)
					[n].each { |m| [m].each { |k| Burn.spin(k) } }
				end
			end
		end
	end
	scenario(:nested) { Outer::Inner::Leaf.new.nested(300) }

	module Refined
		refine String do
			def refined_spin
				Burn.spin(size * 100)
			end
		end
	end
	using Refined
	scenario(:refined) { 'abc'.refined_spin }

	ANONYMOUS = Class.new do
		def without_class(n)
			Burn.spin(n)
		end

		def self.of_no_class(n)
			Burn.spin(n)
		end
	end.new
	scenario(:anonymous) do
		ANONYMOUS.without_class(300)
		ANONYMOUS.class.of_no_class(300)
	end

	# Code from texts that stays.
	class Texts
		class_eval "def of_text(n)\nBurn.spin(n)\n[n].each { |m| Burn.spin(m) }\nend"
		module_eval <<-TEXT, '/burned/somewhere.rb', 77
			def placed(n)
				Burn.spin(n)
			end
		TEXT
		KEPT = eval('lambda { |n| Burn.spin(n) }')
		PLACED = eval("proc { |n|\nBurn.spin(n) }", binding, '/burned/proc.rb', 1000)
		instance_eval "def self.own_text(n)\nBurn.spin(n)\nend"

		def turn
			of_text(300)
			placed(300)
			KEPT.call(300)
			PLACED.call(300)
			Texts.own_text(300)
		end
	end
	scenario(:kept_texts) { Texts.new.turn }

	# Its table of lines has many blocks.
	class Long
		LINES = 300
		class_eval "def long(n)\n" + "n = n * 3 + 1 & 0xffff; n ^= n >> 3 if n > 100\n" * LINES + "Burn.spin(100)\n" +
			"n = (n * 5 + 3) & 0xffff\n" * LINES + "Burn.spin(100)\nend", '/burned/long.rb', 1
	end
	LONG = Long.new
	scenario(:long) { LONG.long(7) }

	class Ünïcode
		def größe(n)
			Burn.spin(n)
		end

		def äsk?(n)
			größe(n)
		end
	end
	scenario(:characters) { Ünïcode.new.äsk?(300) }
end

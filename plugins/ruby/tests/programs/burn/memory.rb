# SPDX-License-Identifier: Apache-2.0
# Allocation, and the collector with all it does.
module Burn
	class Memory
		Node = Struct.new(:left, :right)

		def tree(depth)
			return Node.new if depth.zero?
			Node.new(tree(depth - 1), tree(depth - 1))
		end

		def strings
			Array.new(200) { |n| "burned #{n}" * 3 }.join(' ').split
		end

		def collect
			GC.start(full_mark: true, immediate_sweep: true)
		end

		def compact
			GC.compact
			Burn.spin(200)
		end
	end
	MEMORY = Memory.new
	scenario(:allocation) do
		MEMORY.tree(6)
		MEMORY.strings
	end
	scenario(:collector) { MEMORY.collect }
	# 2.7 crashes now and then when it compacts.
	scenario(:compaction, GC.respond_to?(:compact) && RUBY_VERSION > '3' ? nil : 'no GC.compact') { MEMORY.compact }
end

# SPDX-License-Identifier: Apache-2.0
# Loaded again and again.
Burn.spin(200)
module Burn
	class Later
		Burn.spin(200)
		class << self
			Burn.spin(200)
		end
		[200].each { |n| Burn.spin(n) }
	end
end

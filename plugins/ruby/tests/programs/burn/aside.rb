# SPDX-License-Identifier: Apache-2.0
# Code that is freed right after it has run, and other processes.
module Burn
	scenario(:fleeting) do
		load File.join(__dir__, 'later.rb')
		Class.new { define_method(:fleeting) { Burn.spin(200) } }.new.fleeting #?
	end
	scenario(:texts) do
		eval("Burn.spin(200)\nBurn.spin(100)")
		Object.new.instance_eval('Burn.spin(200)')
		Plain.class_eval('Burn.spin(200)')
	end
	scenario(:forks) do
		# The parent says what it sees before its child does.
		pid = fork do
			sleep 1 if $observing
			20.times { Burn.spin(5000) }
			exit!(0)
		end
		Burn.say('FORKED', pid)
		Burn::CALLED[['C', 'Kernel#exit!', 'exit!', '']] = true if $observing # by the child, of which nobody hears
		Process.wait(pid)
	end
end

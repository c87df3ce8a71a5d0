# SPDX-License-Identifier: Apache-2.0
# Prints its release, where Object and String are, and all method entries of its heap, then "ready", and waits. For
# bench_ruby_names.
%w[csv digest erb fileutils json logger net/http objspace open-uri optparse ostruct prime psych rdoc resolv rexml/document
	set shellwords tempfile time uri yaml].each do |name|
	require name
rescue LoadError
	nil
end

def address(object)
	ObjectSpace.dump(object)[/0x\h+/]
end

puts "release #{RUBY_VERSION[/\d+\.\d+/].tr('.', ' ')}", "object #{address(Object)}", "string #{address(String)}"
IO.pipe do |from, to|
	writer = Thread.new { ObjectSpace.dump_all(output: to).close }
	from.each_line { |line| puts "entry #{line[/0x\h+/]}" if line.include?('"imemo_type":"ment"') }
	writer.join
end
puts 'ready'
$stdout.flush
sleep 300

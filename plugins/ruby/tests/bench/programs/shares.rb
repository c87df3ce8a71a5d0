# SPDX-License-Identifier: Apache-2.0
# shares.rb TURNS [PROFILE]: prints "ready" and does so many turns of the same work of many kinds, all below Work.all; with
# PROFILE under StackProf, whose samples are written there. C runs for less than 0.1 ms a call; the litter is so that the
# collector does not run in the same place of each turn.
WORDS = Array.new(300) { |n| (n * 7919 % 1009).to_s(36) * (1 + n % 3) }
Node = Struct.new(:key, :left, :right)

class Shape
	attr_reader :size
	def initialize(size) @size = size end
	def <=>(other) size <=> other.size end
	def weigh(times) (1..times).inject(0.0) { |sum, n| sum + Math.sqrt(area + n) } end
end

class Circle < Shape
	def area() 3.14159 * size * size end
end

class Tree
	def add(node, key)
		return Node.new(key) unless node
		key < node.key ? node.left = add(node.left, key) : node.right = add(node.right, key)
		node
	end
	def each(node, &block) node && (each(node.left, &block); yield node.key; each(node.right, &block)) end
	def self.sum(keys) new.then { |tree| tree.each(keys.inject(nil) { |root, key| tree.add(root, key) }) { |key| key + 1 } } end
end

module Text
	def self.replace(words) words.each_slice(20).map { |few| few.join(' ').gsub(/[a-m]+/) { |part| part.upcase }.tr('A-F', 'f') } end
	def self.count(words) words.each_with_object(Hash.new(0)) { |word, all| word.each_char { |char| all[char] += 1 } } end
end

class Work
	def self.fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
	def self.sieve(marks, n = 1)
		while (n += 1) * n < marks.size
			at = n * n
			(marks[at] = false; at += n) while marks[n] && at < marks.size
		end
		marks.count(true)
	end
	def self.parse(texts) texts.sum { |text| Integer(text, 34) rescue text.size } end
	def self.matrix(size) Array.new(size) { |row| Array.new(size) { |column| row * column % 7 } }.transpose.flatten.sum end
	def self.order(words) words.sort_by { |word| word.reverse }.uniq { |word| word[0, 2] }.map { |word| [word.size, word].hash } end
	def self.sizes(words) words.first(80).map { |word| Circle.new(word.hash % 100) }.sort.size end
	def self.litter(random) random.rand(6000).times { Object.new } end
	def self.all(turns, random = Random.new(1))
		turns.times do
			[fib(18), sieve(Array.new(6000, true)), parse(WORDS), matrix(40), order(WORDS), sizes(WORDS), Circle.new(3).weigh(3000)]
			[litter(random), Tree.sum((1..300).map { |n| n * 7919 % 1009 }), Text.replace(WORDS), Text.count(WORDS)]
		end
	end
end

%w[json stackprof].each { |name| require name }	# always: they make the heap larger
$stdout.syswrite("ready\n")
exit(Work.all(ARGV[0].to_i) > 0) unless ARGV[1]
said = StackProf.run(mode: :cpu, interval: 4000, raw: true) { Work.all(ARGV[0].to_i) }
File.write(ARGV[1], JSON.generate(missed: said[:missed_samples], frames: said[:frames], raw: said[:raw]))

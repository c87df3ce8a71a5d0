# SPDX-License-Identifier: Apache-2.0
# Answers /, /list/N and /json/N: for puma and unicorn.
require 'erb'
require 'json'

class Pages
	LIST = ERB.new('<ul><% rows.each do |row| %><li class="<%= row[:size] %>"><%= row[:name] %></li><% end %></ul>')

	def call(env)
		_, page, number = env['PATH_INFO'].split('/')
		body = respond_to?("page_#{page}") ? send("page_#{page}", number.to_i) : 'Hello'
		[200, { 'Content-Type' => 'text/html' }, [body]]
	end

	def page_list(number)
		rows = (1..number).map { |n| { name: "row #{n}", size: n**2 } }
		LIST.result(binding)
	end

	def page_json(number)
		squares = (1..number).to_h { |n| ["number #{n}", n * n] }
		JSON.generate(squares.sort_by { |_, square| -square }.to_h)
	end
end

run Pages.new

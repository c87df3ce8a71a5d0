# SPDX-License-Identifier: Apache-2.0
"""Debian's programs that are written in Ruby, and what they do for check_ruby_real.py: each gives its command."""
import os
import shlex
import shutil
import sys

import locations  # and with it where the kit is
import runtimes
from programs import driven, named, write

GROUP = "ruby-programs"
ROOT = os.path.join(runtimes.CACHE, GROUP)
RUBY = "/usr/bin/ruby"
PORT = 18299
SHORT = "short"
SERVERS = "puma", "unicorn"
RAKEFILE = """require 'digest/sha2' # its autoload is not safe in threads
files = (1..300).map { |n| "data/file#{n}" }
directory 'data'
files.each_with_index do |name, n|
  file name => ['data', *(n.zero? ? [] : [files[n / 2]])] do |task|
    text = (1..200).map { |line| "#{name} #{line * n}" }
    File.write(task.name, text.sort_by { |words| words.reverse }.join("\\n"))
  end
end
rule('.sum' => ->(name) { name.delete_suffix('.sum') }) do |task|
  File.write(task.name, Digest::SHA256.hexdigest(File.read(task.source)))
end
namespace :sums do
  multitask all: files.map { |name| name + '.sum' }
end
task(:clean) { rm_rf 'data', verbose: false }
task default: [:clean, 'sums:all']
"""
SECTION = """
== Section {0}

A paragraph with *bold*, _italic_ and `code`, a link:https://example.org/{0}[link], and a <<section-{0},reference>>.

[[section-{0}]]
.A table
|===
|Name |Value
|a{0} |{0}
|===

. one
. two
* three

[source,ruby]
----
puts {0}
----
"""
POST = """---
title: Post {0}
tags: [a{1}, b]
---
# Heading {0}

Some *text* with `code` and a [link](https://example.org/{0}).

| a | b |
|---|---|
| {0} | {1} |

{{% for post in site.posts limit: 20 %}}* {{{{ post.title | upcase }}}} {{{{ post.date | date: "%Y" }}}}
{{% endfor %}}

```ruby
def method{0}(a, b = {1})
  [a, b].map {{ |x| x.to_s }}.join
end
```
"""


def inside(directory, *words):
    """The command that runs these words in the root file system."""
    return [sys.executable, runtimes.ENTER, "chroot", ROOT, directory, *words]


def again(check, directory, *words):
    """The command that runs them there again and again."""
    return driven(inside(directory, "/bin/sh", "-c", f"cd {directory} && exec {shlex.join(words)} >said 2>&1"),
                  check.options.seconds)


def served(check, directory, *words):
    """The command that starts a server and is its client for so long."""
    shutil.copy(os.path.join(locations.PROGRAMS, "config.ru"), directory)
    return driven(inside(directory, RUBY, *words, directory + "/config.ru"), check.options.seconds, False, PORT,
                  ("/", "/list/3000", "/json/5000"))


def program_rake(check, directory):
    write(directory + "/Rakefile", RAKEFILE)
    return again(check, directory, RUBY, "/usr/bin/rake")


def program_asciidoctor(check, directory):
    write(directory + "/book.adoc", "= Book\n:toc:\n:sectnums:\n" + "".join(map(SECTION.format, range(400))))
    return again(check, directory, RUBY, "/usr/bin/asciidoctor", "book.adoc")


def program_jekyll(check, directory):
    write(directory + "/_config.yml", "title: Site\nhighlighter: rouge\n")
    for n in range(150):
        write(f"{directory}/_posts/2024-01-{n % 28 + 1:02}-post{n}.md", POST.format(n, n % 7))
    return again(check, directory, RUBY, "/usr/bin/jekyll", "build", "--disable-disk-cache")


def program_rubocop(check, directory):
    shutil.copytree(ROOT + "/usr/lib/ruby/3.1.0/optparse", directory + "/optparse")
    shutil.copytree(ROOT + "/usr/lib/ruby/3.1.0/net", directory + "/net")
    return again(check, directory, RUBY, "/usr/bin/rubocop", "--cache", "false", "--fail-level", "F")


def program_puma(check, directory):
    return served(check, directory, "/usr/bin/puma", "-q", "-t", "4:4", "-b", f"tcp://127.0.0.1:{PORT}")


def program_unicorn(check, directory):
    write(directory + "/unicorn.rb", "worker_processes 2\nlogger Logger.new(File::NULL)\n")
    return served(check, directory, "/usr/bin/unicorn", "-c", directory + "/unicorn.rb", "-l", f"127.0.0.1:{PORT}")


def program_short(check, directory):
    """Of 0.2 s each."""
    write(directory + "/short.rb", "require 'json'\nrequire 'set'\nrequire 'optparse'\nrequire 'erb'\n"
          "JSON.parse(JSON.generate((1..20_000).map { |n| { n.to_s => Set[n, n + 1].to_a } }))\n")
    return again(check, directory, RUBY, "short.rb")


ALL = named(globals())

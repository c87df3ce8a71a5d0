# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of CRuby."""

PATTERN = r"ruby(\d+\.\d+)?(-shared)?"

# A release with YJIT is a runtime of its own with it: RUBYOPT is read as options are.
ASK = r"""
shared = File.read('/proc/self/maps') =~ /libruby[\w.-]*\.so/
yjit = defined?(RubyVM::YJIT) || RubyVM.const_defined?(:YJIT)
print [RUBY_VERSION, shared ? 'libruby' : 'static', yjit ? 'variant:RUBYOPT=--yjit:yjit' : ''].join(' '), "\n"
"""

PROBE = ["--disable=gems", "-e", ASK]

# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of PHP."""

PATTERN = r"php(\d+\.\d+|-zts|-clang|-static)?"

# How it was built says its name.
ASK = r"""
echo preg_replace('/[A-Za-z]+.*/', '', PHP_VERSION), ' ';
echo preg_match('/php-(\w+)$/', PHP_BINARY, $found) ? $found[1] : '', PHP_DEBUG ? ' debug' : '';
"""

PROBE = ["-n", "-r", ASK]

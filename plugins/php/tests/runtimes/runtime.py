# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of PHP."""

PATTERN = r"php(\d+\.\d+)?(-zts|-clang)?"

PROBE = ["-n", "-r", "echo PHP_VERSION, PHP_ZTS ? ' zts' : '', PHP_DEBUG ? ' debug' : '';"]

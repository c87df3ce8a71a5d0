# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of CPython."""

PATTERN = r"python3\.\d+[dt]*(-nopie)?"

ASK = """
import platform, sys
shared = 'libpython' in open('/proc/self/maps').read()
jit = getattr(sys, '_jit', None)
print(platform.python_version(), 'libpython' if shared else 'static',
      'debug' if hasattr(sys, 'gettotalrefcount') else '',
      'freethreaded' if 't' in sys.abiflags else '',
      'variant:PYTHON_JIT=1:jit' if jit and jit.is_available() else '')
"""

PROBE = ["-c", ASK]

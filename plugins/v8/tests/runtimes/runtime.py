# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of V8: Node."""

PATTERN = r"node(js)?"

ASK = """
var shared = /libnode/.test(require('fs').readFileSync('/proc/self/maps', 'latin1'));
console.log([process.versions.node, 'v8-' + process.versions.v8.split(/[-.]/).slice(0, 2).join('.'),
             shared ? 'libnode' : 'static'].join(' '));
"""

PROBE = ["-e", ASK]

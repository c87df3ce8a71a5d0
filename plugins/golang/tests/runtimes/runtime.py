# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of Go: its command, which builds programs."""
import re

PATTERN = r"go"
PLACES = "usr/lib/go-*/bin", "usr/local/go/bin"
PROBE = ["version"]
ENVIRONMENT = {"GOENV": "off", "GOFLAGS": ""}   # the user's flags are not those that each release knows


def answer(text):
    """Of "go version go1.26.8 linux/amd64"."""
    found = re.search(r"go version go(1[.\d]+)", text)
    return found[1] if found else ""

# SPDX-License-Identifier: Apache-2.0
"""What tests/runtimes/runtimes.py has to know of Java."""
import re

PATTERN = r"java"
# Debian's: of 8 the program is that of the JRE, and bin/java a link to it where there is a JDK.
PLACES = ["usr/lib/jvm/*/bin", "usr/lib/jvm/*/jre/bin"]
PROBE = ["-XshowSettings:properties", "-version"]

VENDORS = {"Eclipse Adoptium": "temurin", "Temurin": "temurin", "Debian": "debian"}
MODES = {"Zero": "zero", "Minimal": "minimal", "Client": "client"}


def answer(text):
    """VERSION VENDOR [MODE]: 8.0.504 debian."""
    found = dict(re.findall(r"^    (java\.[\w.]+) = (.*)$", text, re.M))
    version = found.get("java.version", "")
    if not version:
        return ""
    words = [re.sub(r"^1\.", "", version).replace("_", ".")]
    words += [flavor for vendor, flavor in VENDORS.items()
              if vendor in found.get("java.vendor", "")][:1]
    words += [flavor for mode, flavor in MODES.items() if mode in found.get("java.vm.name", "")]
    return " ".join(words)

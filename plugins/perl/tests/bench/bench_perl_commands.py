#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of Perls that are gone when names are read."""
import commands

if __name__ == "__main__":
    commands.bench("perl with two modules", ["perl", "-MPOSIX", "-MData::Dumper", "-e", "1"], 99)

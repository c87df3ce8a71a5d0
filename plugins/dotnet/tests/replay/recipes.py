# SPDX-License-Identifier: Apache-2.0
"""How tests/replay/record starts the .NET programs of the fixtures: programs/Burner.cs, published by live/check_dotnet.py
(or in EP_DOTNET_PROGRAMS), one scenario each. One of each kind of code."""
import importlib
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
SHRINK = True       # the runtime's code is searched whole
COMM = "Burner"     # of the main thread
TURN = r"dotnet  Burner\.Program\.Turn  .*\ndotnet  Burner\.Program\.Loop  .*\ndotnet  Burner\.Program\.Main  .*\n"
OWN = r"dotnet  Burner\.%s  .*\n"
SPIN = OWN % r"Leaf\.Spin"
CALLS = OWN % r"Scenarios\.Small" + OWN % r"Scenarios\.Calls" + TURN
RUNTIME = r"(?:native  libc.*\n)+"
NO_TIERS = {"DOTNET_TieredCompilation": "0"}
NO_OSR = {"DOTNET_TC_OnStackReplacement": "0", "DOTNET_TC_CallCountThreshold": "7fffffff", "DOTNET_TieredPGO": "0"}
RECIPES = {     # form of publishing, scenario, settings of the runtime, what the first stack must match
    "dotnet-8": ("8_alone", "native", {}, r"\A" + SPIN + OWN % r"Native\.Compare"),
    "dotnet-9-filter": ("9_alone", "filtered", {}, r"\A" + SPIN + OWN % r"Thrown\.Looks" + OWN % r"Thrown\.Filtered" +
                        r"(?:.*\n)+?" + OWN % r"Thrown\.Throw"),
    "dotnet-10-tier0": ("10", "calls", NO_OSR, r"\A" + SPIN + CALLS),
    "dotnet-10-tier1": ("10", "calls", NO_TIERS, r"\A" + SPIN + CALLS),
    "dotnet-10-osr": ("10", "calls", {}, r"\A" + SPIN + CALLS),
    "dotnet-10-r2r": ("10", "reflection", NO_TIERS, r"\A" + SPIN + r"(?:.*\n)*dotnet  System\.Reflection\."),
    "dotnet-10-stub": ("10", "stubs", NO_TIERS, r"\Adotnet  \[.* stub\].*\n" + OWN % r"Scenarios\.Stubs" + TURN),
    "dotnet-10-catch": ("10", "caught", NO_TIERS, r"\A" + SPIN + OWN % r"Thrown\.Caught" + TURN),
    "dotnet-10-finally": ("10", "finally", {}, r"\A" + SPIN + OWN % r"Thrown\.Last" + OWN % r"Thrown\.Finally" + TURN),
    "dotnet-8-catch": ("8_alone", "caught", {}, r"\A" + SPIN + OWN % r"Thrown\.Caught" + TURN),
    "dotnet-10-dynamic": ("10", "dynamic", {}, r"\A" + SPIN + r"dotnet  burner_dynamic  .*\n"),
    "dotnet-10-trip": ("10", "trip", NO_TIERS, [r"native  libcoreclr.*\n" + r"dotnet  Aside\.Crowd\.Middle.*\ndotnet  Aside\.Crowd\.Work.*\n"]),
    "dotnet-10-1000-deep": ("10", "deep", NO_TIERS, r"\A" + SPIN + "(?:" + OWN % r"Scenarios\.Down" + "){900,}"),
    "dotnet-10-single": ("10_single", "pattern", {}, r"\A" + SPIN),
}
NAMES = list(RECIPES)
SECONDS = "600"


def start(name, work):
    sys.path.insert(0, os.path.join(HERE, "..", "live"))
    check = importlib.import_module("check_dotnet")
    form, scenario, settings, until = RECIPES[name]
    try:
        program = check.program(form)
    except check.runs.Skipped as reason:
        return None, str(reason)
    directory = f"{work}/{form}"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(os.path.dirname(program), directory)
    run = subprocess.Popen([f"{directory}/Burner", SECONDS, "970" if name.endswith("-1000-deep") else "20", scenario], env={"PATH": os.environ["PATH"], **settings},
                           stdout=subprocess.DEVNULL)
    time.sleep(3)
    return run, until


def threads(_name):
    return [COMM]

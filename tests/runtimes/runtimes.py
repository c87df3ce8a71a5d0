# SPDX-License-Identifier: Apache-2.0
"""The language runtimes of this machine: its own, pyenv's, and those `install` unpacked.

    for runtime in find("toy"):
        subprocess.run(runtime.argv(["--version"], directory="/what/it/may/see"))

What a runtime is, its version and its flavours, is asked from the runtime itself. How, each language
says in plugins/LANGUAGE/tests/runtimes/runtime.py:

    PATTERN     base names of programs in bin directories, as a regular expression
    PROBE       arguments that print "version flavor flavor... [variant:NAME=VALUE:flavor...]"; a variant
                is the same program with an environment variable set, and is a runtime of its own
    answer(text)    optional: makes such words of what it printed, errors too, where PROBE alone cannot
    PLACES      optional: more bin directories, as glob patterns relative to a root file system
    ENVIRONMENT optional: variables for the probe
"""
import dataclasses
import glob
import importlib.util
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
PLUGINS = os.path.realpath(os.path.join(HERE, "..", "..", "plugins"))
ENTER = os.path.join(HERE, "enter.py")
CACHE = os.environ.get("EBPF_PROFILER_RUNTIMES", "/var/tmp/ebpf-profiler-runtimes")
PROBE_SECONDS = 30


def load_languages():
    """{name: module} of plugins/NAME/tests/runtimes/runtime.py."""
    found = {}
    for path in sorted(glob.glob(glob.escape(PLUGINS) + "/*/tests/runtimes/runtime.py")):
        name = os.path.relpath(path, PLUGINS).split(os.sep)[0]
        spec = importlib.util.spec_from_file_location("runtime_of_" + name, path)
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return found


LANGUAGES = load_languages()


@dataclasses.dataclass
class Runtime:
    language: str
    version: str
    flavors: tuple
    source: str         # "host", "pyenv", or the directory of the cache
    program: str        # absolute; inside the root when there is one
    root: str = ""      # "": runs on the host as it is
    environment: tuple = ()     # (name, value)

    @property
    def name(self):
        return "_".join([self.language, self.version, *self.flavors, self.source])

    @property
    def numbers(self):
        """(3, 14, 0)"""
        return tuple(int(n) for n in re.findall(r"\d+", self.version)[:3])

    def argv(self, arguments, directory=HERE, way=None):
        """The command line on the host. way: one of enter.py's, for a runtime that has a root."""
        settings = [f"{name}={value}" for name, value in self.environment]
        if self.root:
            way = way or ("chroot" if os.geteuid() == 0 else "ldso")
            command = [sys.executable, ENTER, way, self.root, directory, *settings]
        else:
            command = ["env", *settings] if settings else []
        return [*command, self.program, *arguments]


def programs_in(directory, pattern):
    """Programs of a bin directory, each file once."""
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), "*"))):
        if re.fullmatch(pattern, os.path.basename(path)) and os.access(path, os.X_OK):
            file = os.stat(path)
            found[file.st_dev, file.st_ino] = path  # of links, the longest name
    return sorted(found.values())


def programs_of(root, language):
    """Programs of a root file system, each file once: as a path inside the root."""
    module, found = LANGUAGES[language], {}
    for place in ("usr/bin", *getattr(module, "PLACES", ())):
        for directory in sorted(glob.glob(os.path.join(glob.escape(root or "/"), place))):
            for program in programs_in(directory, module.PATTERN):
                file = os.stat(program)
                found.setdefault((file.st_dev, file.st_ino), program[len(root):])
    return sorted(found.values())


def candidates(language):
    """(source, root, program) for everything that may be a runtime of the language."""
    pattern = LANGUAGES[language].PATTERN
    for program in programs_of("", language):
        yield "host", "", program
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for version in sorted(glob.glob(glob.escape(pyenv) + "/versions/*")):
        for program in programs_in(version + "/bin", pattern):
            yield "pyenv", "", program
    for root in sorted(glob.glob(glob.escape(CACHE) + "/*")):
        source = os.path.basename(root)
        for program in programs_of(root, language):
            yield source, root, program
        if not os.path.isdir(root + "/usr"):  # built for the host, not a root file system
            for program in programs_in(root + "/bin", pattern):
                yield source, "", program


def ask(runtime):
    """What the runtime prints of itself, or "" when it does not run."""
    module = LANGUAGES[runtime.language]
    try:
        run = subprocess.run(runtime.argv(module.PROBE), check=False,
                             capture_output=True, text=True, errors="replace",
                             env={**os.environ, **getattr(module, "ENVIRONMENT", {})},
                             timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if run.returncode != 0:
        return ""
    return module.answer(run.stdout + run.stderr) if hasattr(module, "answer") else run.stdout


def find(*languages, complain=None):
    """All runtimes of these languages (none named: of all). complain(text): one does not run."""
    for language in languages or LANGUAGES:
        for source, root, program in candidates(language):
            runtime = Runtime(language, "", (), source, program, root)
            words = ask(runtime).split()
            if not words:
                if complain:
                    complain(f"{language} {source} {program}: does not run here")
                continue
            flavors = tuple(w for w in words[1:] if not w.startswith("variant:"))
            yield dataclasses.replace(runtime, version=words[0], flavors=flavors)
            for variant in (w for w in words[1:] if w.startswith("variant:")):
                _, setting, flavor = variant.split(":")
                yield dataclasses.replace(runtime, version=words[0], flavors=(*flavors, flavor),
                                          environment=(tuple(setting.split("=", 1)),))


def main(arguments):
    if arguments[:1] != ["list"]:
        print(__doc__, file=sys.stderr)
        return 2
    def complain(text):
        print("skipped:", text, file=sys.stderr)

    for runtime in find(*arguments[1:], complain=complain):
        print(runtime.language, runtime.version, ",".join(runtime.flavors), runtime.source,
              " ".join(runtime.argv([])), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

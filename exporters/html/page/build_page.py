#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins the page's sources to what stands in front of a profile, as bytes for C to include.

    build_page.py OUT.inc [--text NAME FILE] page.html style.css SCRIPT.js...

The script is one function, so that nothing of it is global; its hash, and that of the style, is all that the
page's policy allows. With --text the script has a constant of that name, the text of that file. With --html the page's head
itself is written, for tests."""
import base64
import hashlib
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def make_head(template, style, scripts):
    script = "\n'use strict';\n(() => {\n" + "".join(scripts) + "})();\n"
    if "</script" in script.lower() or "<!--" in script:
        raise SystemExit("build_page: the script may not hold what would end it")
    policy = (f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
              "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
    return template.replace("@POLICY@", policy).replace("@STYLE@", style).replace("@SCRIPT@", script)


def main(arguments):
    is_html = arguments[0] == "--html"
    out, *rest = arguments[1:] if is_html else arguments
    texts = []
    while rest[0] == "--text":
        texts.append(f"const {rest[1]} = {json.dumps(read(rest[2]))};\n")
        rest = rest[3:]
    template, style, *scripts = rest
    head = make_head(read(template), read(style), texts + [read(path) for path in scripts])
    with open(out, "w", encoding="utf-8") as file:
        if is_html:
            file.write(head)
            return
        data = head.encode()
        for start in range(0, len(data), 20):
            file.write(",".join(str(byte) for byte in data[start:start + 20]) + ",\n")


if __name__ == "__main__":
    main(sys.argv[1:])

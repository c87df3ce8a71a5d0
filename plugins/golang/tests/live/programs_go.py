# SPDX-License-Identifier: Apache-2.0
"""Debian's programs that are written in Go, and what they do for check_golang_real.py: each gives its command."""
import glob
import os
import sys

import runtimes
from programs import driven, named, write

ROOT = os.path.join(runtimes.CACHE, "trixie")
GOROOT = "/usr/lib/go-1.24"
PORT = 18299            # and the next one
GZIP = {"Accept-Encoding": "gzip"}
CADDYFILE = """{{
	admin off
	auto_https off
}}
http://127.0.0.1:{port} {{
	root * {directory}/files
	encode gzip
	templates
	file_server browse
}}
"""
PAGE = """<title>{{.Req.URL.Path}}</title>
{{range $i := splitList "," "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"}}<p class="{{$i}}">{{$i | upper | repeat 20}}</p>
{{end}}{{markdown "# Some\\n\\n* text\\n* *and* `more`\\n"}}
"""
PROMETHEUS = """global:
  scrape_interval: 100ms
  evaluation_interval: 100ms
scrape_configs:
  - job_name: self
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""
QUERY = "/api/v1/query_range?query=sum(rate({{__name__=~%22.%2B%22}}[5s]))%20by%20(job)&start={0}&end={1}&step=1"
POST = """---
title: Number {n}
date: 2024-01-{day:02}
tags: [t{tag}, all]
---
# It has *{n}* words

""" + 8 * """Some **text** with [a link](https://example.org/) and `code`.

```go
func main() {{ println({n}) }}
```

"""
LAYOUTS = {
    "_default/single.html": "<h1>{{.Title}}</h1>{{.Content}}{{range .Params.tags}}<b>{{.}}</b>{{end}}",
    "_default/list.html": """{{range .Pages.ByTitle}}<a href={{.Permalink}}>{{.Title | markdownify}}</a>{{.Summary}}
{{end}}""",
}


def inside(directory, *words):
    """The command that runs these words in the root file system."""
    settings = ["HOME=" + directory, f"PATH={GOROOT}/bin", "GOTOOLCHAIN=local", "GOFLAGS=", "GOENV=off", "GOPROXY=off",
                "CGO_ENABLED=0", "GOCACHE=" + directory + "/cache", "GOPATH=" + directory + "/path"]
    return [sys.executable, runtimes.ENTER, "chroot", ROOT, directory, *settings, *words]


def program_caddy(check, directory):
    write(directory + "/Caddyfile", CADDYFILE.format(port=PORT, directory=directory))
    write(directory + "/files/page.html", PAGE)
    write(directory + "/files/text.txt", "".join(f"line {n * n} of many\n" for n in range(8000)))
    command = inside(directory, "/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config", directory + "/Caddyfile")
    return driven(command, check.options.seconds, True, PORT, ("/page.html", "/text.txt", "/"), GZIP)


def program_prometheus(check, directory):
    write(directory + "/prometheus.yml", PROMETHEUS.format(port=PORT))
    command = inside(directory, "/usr/bin/prometheus", f"--config.file={directory}/prometheus.yml", "--log.level=error",
                     f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{PORT}")
    return driven(command, check.options.seconds, True, PORT, ("/metrics", QUERY, QUERY, QUERY), GZIP)


def program_gopls(check, directory):
    files = [path[len(ROOT):] for path in glob.glob(f"{ROOT}/usr/share/go-1.24/src/net/http/*.go")]
    return driven(inside(directory, "/usr/bin/gopls", "check",
                         *[path.replace("/usr/share/go-1.24", GOROOT) for path in sorted(files)[:20]]), check.options.seconds)


def program_hugo(check, directory):
    for name, text in LAYOUTS.items():
        write(f"{directory}/site/layouts/{name}", text)
    write(directory + "/site/hugo.toml", 'baseURL = "https://example.org/"\n')
    for n in range(600):
        write(f"{directory}/site/content/posts/p{n}.md", POST.format(n=n, day=n % 28 + 1, tag=n % 17))
    return driven(inside(directory, "/usr/bin/hugo", "--quiet", "-s", directory + "/site", "-d", directory + "/out"),
                  check.options.seconds)


def program_build(check, directory):
    return driven(inside(directory, GOROOT + "/bin/go", "build", "-o", directory + "/built", "cmd/go"), check.options.seconds)


ALL = named(globals())

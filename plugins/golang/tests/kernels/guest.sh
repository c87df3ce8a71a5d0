# Sourced by scripts/kernels: a static program of this machine's Go for the guest.
# SPDX-License-Identifier: Apache-2.0

# Its stacks end in Go's runtime, not in a C library.
recorded=golang judged_by=--no-root

put_into_guest() {
	command -v go >/dev/null 2>&1 || die "no go"
	env -C "$root/plugins/golang/tests/kernels" CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS= GOCACHE="$cache/go-cache" \
		GOENV=off GO111MODULE=off go build -o "$guest/t/golang" climb.go || die "go builds no program"
}

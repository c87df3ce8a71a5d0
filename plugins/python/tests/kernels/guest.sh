# Sourced by scripts/kernels: a CPython for the guest.
# SPDX-License-Identifier: Apache-2.0

# Its start, which is in the samples, is in none of the stacks that climb.py knows.
recorded=python judged_by='--threshold 80'

# The system's CPython as /t/cpython, and of its library what it needs to start, at its place.
put_into_guest() {
	python=$(command -v /usr/bin/python3 || command -v python3) || die "no python3"
	put_program "$python" cpython climb.py
	# os.py: by it the directory is found; it is not loaded.
	env -i "$python" -I -S -c 'import io, sys
files = [getattr(m, "__file__", None) for m in sys.modules.values()]
print("\n".join(filter(None, files + [io.__file__[:-5] + "os.py"])))' |
		while read -r file; do
			mkdir -p "$guest${file%/*}"
			cp "$file" "$guest$file"
		done
	mkdir -p "$guest$(env -i "$python" -I -S -c 'import sys; print(sys.path[-1])')"
}

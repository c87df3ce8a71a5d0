# Sourced by scripts/kernels: a PHP for the guest.
# SPDX-License-Identifier: Apache-2.0

n_language_checks=2

find_php() {
	ls /usr/bin/php[0-9].[0-9] 2>/dev/null | tail -n 1 | grep . || command -v php
}

install_php() {
	command -v apt-get >/dev/null 2>&1 || return 1
	say "installing php-cli"
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install php-cli >/dev/null
}

# The system's PHP as /t/php; climb.php uses no extension.
put_into_guest() {
	php=$(find_php) || { install_php && php=$(find_php); } || die "no php: install the package php-cli"
	cp -L "$php" "$guest/t/php"
	cp "$root/plugins/php/tests/kernels/climb.php" "$guest/t"
	copy_libraries "$php"
}

# Its start, which is in the samples, is in none of the stacks that climb.php knows.
judge_language() {
	for name in php interpreted_php; do
		judge "$1" $name --threshold 80
	done
}

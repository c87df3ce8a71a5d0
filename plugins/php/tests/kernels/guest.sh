# Sourced by scripts/kernels: a PHP for the guest.
# SPDX-License-Identifier: Apache-2.0

# Its start, which is in the samples, is in none of the stacks that climb.php knows.
recorded=php judged_by='--threshold 80'

find_php() {
	ls /usr/bin/php[0-9].[0-9] 2>/dev/null | tail -n 1 | grep . || command -v php
}

# The system's PHP; climb.php uses no extension.
put_into_guest() {
	php=$(find_or_install find_php php-cli)
	put_program "$php" php climb.php
}

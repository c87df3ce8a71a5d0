# SPDX-License-Identifier: Apache-2.0
package Burn::Used;

Burn::spin(20000);

sub import {
	my ($class, @names) = @_;

	return Burn::spin(20000);
}

1;

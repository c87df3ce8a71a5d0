# SPDX-License-Identifier: Apache-2.0
# perl -d:Burn: each call goes through DB::sub, which caller leaves out.
package Devel::Burn;

package DB;

# Of each statement, if it were wanted.
sub DB {
	$DB::single = 0;
	return;
}

sub sub {
	return &$DB::sub;
}

sub lsub : lvalue {
	return &$DB::sub;
}

1;

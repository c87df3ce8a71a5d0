<?php
// SPDX-License-Identifier: Apache-2.0
// Included again and again.
\Burn\spin(500);
(function ($n) {
	\Burn\spin($n);
})(500);
array_map(function ($n) {
	\Burn\spin($n);
}, [500]);

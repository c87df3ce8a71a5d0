// SPDX-License-Identifier: Apache-2.0
'use strict';
// Has nothing to do: so that an unwinder is loaded before another Node starts.
setInterval(() => {}, 1000);

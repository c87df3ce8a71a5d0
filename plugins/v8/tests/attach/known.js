// Waits in functions that a test knows, and says which V8 this is.
'use strict';
function knownSleeper(ms) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return Atomics.wait(cell, 0, 0, ms);
}

function knownCaller(ms) {
  return knownSleeper(ms); // line 9
}

require('fs').writeSync(1, process.versions.v8 + '\n');
knownCaller(20000);

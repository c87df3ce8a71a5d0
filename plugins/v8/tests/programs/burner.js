// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * burner.js SECONDS [--addon=FILE] [--workers=N] [--lazy] [NAME...]
 *
 * Burns CPU time in stacks that it knows (../live/calls.py): each scenario in turn, for a slice
 * of time, on the main thread and on each worker. Node 8 and newer. Prints lines:
 *
 *	THREAD NAME TID			a thread that runs JavaScript
 *	STARTED NAME SECONDS		CPU time of that thread before its first scenario
 *	MISSING NAME WHY		a scenario that this Node has not
 *	WORK NAME SCENARIO SECONDS N	CPU time and turns of a scenario on that thread
 *	CPU SECONDS			what the process has used, as its last line
 *
 * --lazy: V8 is not asked for lines before, so it has no tables of them where it makes these on demand.
 */
const fs = require('fs');
const {state, say, never} = require('./common.js'); //> @module!
const natives = require('./natives.js'); //> @module!

const SLICE_MS = 15;
const PREPARED = 300; // calls of each scenario that V8 is asked for
const FILES = ['calls', 'callbacks', 'later', 'newer', 'deep', 'tiers', 'memory', 'natives'];
let threads = null;
try {
    threads = require('worker_threads');
} catch (error) {
    threads = null; // Node 8, and 10 without a flag
}

const isWorker = threads !== null && !threads.isMainThread;
const options = isWorker ? threads.workerData : read(process.argv.slice(2)); //> read
const ready = [];
let at = 0, deadline = 0, sliceEnd = 0, current = null, began = 0;

//@ driver
function read(words) { //= read
    const found = {seconds: Number(words[0]), addon: '', workers: 2, lazy: false, names: [], thread: 'main'};

    for (const word of words.slice(1)) {
        const option = /^--(\w+)=?(.*)$/.exec(word);

        if (!option) {
            found.names.push(word);
        } else if (option[1] === 'addon') {
            found.addon = option[2];
        } else {
            found[option[1]] = option[2] === '' ? true : Number(option[2]);
        }
    }
    return found;
}

function milliseconds() { //= milliseconds
    const time = process.hrtime();

    return time[0] * 1e3 + time[1] / 1e6;
}

// Seconds of this thread: its first number is nanoseconds on a CPU (Documentation/scheduler/sched-stats.rst).
function threadTime() { //= threadTime
    try {
        return parseInt(fs.readFileSync('/proc/thread-self/schedstat', 'utf8'), 10) / 1e9;
    } catch (error) {
        return NaN;
    }
}

function cpuTime() { //= cpuTime
    const used = process.cpuUsage();

    return (used.user + used.system) / 1e6;
}

function missing(name, error) { //= missing
    say('MISSING ' + name + ' ' + String(error.message).split('\n')[0]); //> say
}

function prepare(name, turn, file) { //= prepare
    try {
        if (file.prepare && file.prepare[name]) {
            file.prepare[name](); //> prepareWasm prepareNative
        }
        ready.push({name, turn, turns: 0, seconds: 0, prepared: false});
    } catch (error) {
        missing(name, error); //> missing
    }
}

function loadAll() { //= loadAll
    for (const stem of FILES) {
        let file = {scenarios: {}};

        try {
            file = require('./' + stem + '.js'); //> @module!
        } catch (error) {
            missing(stem, error); //> missing
        }
        for (const name of Object.keys(file.scenarios)) {
            if (options.names.length === 0 || options.names.indexOf(name) >= 0) {
                prepare(name, file.scenarios[name], file); //> prepare
            }
        }
    }
}

function slice(scenario) { //= slice
    let result;

    do {
        scenario.turns++;
        result = scenario.turn(); //> @turn
    } while (!(result && result.then) && isWithin()); //> isWithin
    return result;
}

function isWithin() { //= isWithin
    return milliseconds() < sliceEnd; //> milliseconds
}

// Of a scenario that goes on later: another turn of the same slice, or the next slice.
function settle() { //= settle entry
    if (isWithin()) { //> isWithin
        slice(current).then(settle, broken); //> slice
    } else {
        finished(); //> finished
    }
}

function isPrepared(one) { //= isPrepared
    return one.prepared;
}

function finished() { //= finished
    state.observing = 0;
    current.seconds += threadTime() - began; //> threadTime
    current.prepared = true;
    if (milliseconds() < deadline || !ready.every(isPrepared)) { //> milliseconds isPrepared?
        setImmediate(drive);
    } else {
        end(); //> end
    }
}

function broken(error) { //= broken entry
    say('BROKEN ' + current.name + ' ' + (error && error.stack)); //> say
    process.exit(1);
}

// In the first slice of each V8 is asked for lines.
function drive() { //= drive entry
    current = ready[at++ % ready.length];
    state.observing = current.prepared || options.lazy ? 0 : PREPARED;
    began = threadTime(); //> threadTime
    sliceEnd = milliseconds() + SLICE_MS; //> milliseconds
    const result = slice(current); //> slice

    if (result && result.then) {
        result.then(settle, broken);
    } else {
        finished(); //> finished
    }
}

function end() { //= end
    for (const one of ready) {
        say(['WORK', options.thread, one.name, one.seconds.toFixed(3), one.turns].join(' ')); //> say
    }
    if (options.seconds < 0) {
        never(3);
    }
}

function startWorkers() { //= startWorkers
    for (let i = 0; i < options.workers; i++) {
        new threads.Worker(__filename, {workerData: Object.assign({}, options, {thread: 'worker' + i})});
    }
}

function main() { //= main
    if (options.addon) {
        natives.load(options.addon); //> load
    }
    say('THREAD ' + options.thread + ' ' + fs.readlinkSync('/proc/thread-self').split('/')[2]); //> say
    loadAll(); //> loadAll
    say('STARTED ' + options.thread + ' ' + threadTime()); //> say threadTime
    if (!threads && options.workers) {
        missing('workers', new Error('no module worker_threads')); //> missing
    } else if (!isWorker) {
        startWorkers(); //> startWorkers
    }
    deadline = milliseconds() + options.seconds * 1000; //> milliseconds
    if (ready.length) {
        setImmediate(drive);
    }
}

if (!isWorker) {
    process.on('exit',
        () => { //= ~exit entry
            say('CPU ' + cpuTime()); //> say cpuTime
        });
}
main(); //> main

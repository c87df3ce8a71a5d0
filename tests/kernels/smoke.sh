# SPDX-License-Identifier: Apache-2.0
#
# The smoke test of a guest, run in /t by init.sh. Prints a line "ok NAME" or "FAILED NAME: WHY" for
# each check; profiles and what programs said go to /t/out, where the host judges the stacks.
# Emulation makes a guest ten times slower, and more on a busy machine: frequencies and shares are
# chosen for that. Where the profiled program is older than the profiler, the first samples find its
# tables not loaded yet: a share of those is no fault of the kernel's.
export EBPF_PROFILER_PLUGINS_DIR=/t/plugins
profiler=/t/ebpf-profiler
out=/t/out
freq=49
seconds=7

. ./say.sh

# The share of complete stacks that a summary reports, without its fraction.
complete_share() {
	sed -n 's/^stacks: *\([0-9]*\)[.0-9]* % complete.*/\1/p' "$1"
}

# A command's stacks: at least $complete % complete by the summary; the functions must be in the
# profile.
complete=90
check_record() {
	name=$1 functions=$2
	shift 2
	"$profiler" record -F $freq -o "$out/$name.pb.gz" -- "$@" >"$out/$name.truth" 2>"$out/$name.txt"
	status=$?
	share=$(complete_share "$out/$name.txt")
	if [ $status != 0 ]; then
		failed "record $name" "exit status $status: $(tail -n 3 "$out/$name.txt")"
	elif grep -q 'is not on the list' "$out/$name.txt"; then
		failed "record $name" "$(grep -m 1 'is not on the list' "$out/$name.txt")"
	elif [ "${share:-0}" -lt $complete ]; then
		failed "record $name" "$(grep ^stacks: "$out/$name.txt")"
	else
		check_functions "record $name" "$out/$name.pb.gz" "$functions"
	fi
}

check_functions() {
	for function in $3; do
		if ! gunzip -c "$2" | grep -q "$function"; then
			failed "$1" "no function $function in the profile"
			return
		fi
	done
	ok "$1"
}

check_doctor() {
	"$profiler" doctor >"$out/doctor.txt" 2>&1
	status=$?
	if [ $status != 0 ] || grep -q '^fail' "$out/doctor.txt"; then
		failed doctor "exit status $status: $(grep '^fail' "$out/doctor.txt")"
	else
		ok doctor
	fi
}

check_pid() {
	/t/burner 40 >"$out/pid.truth" &
	burner=$!
	"$profiler" record -F $freq -d 4 -p $burner -o "$out/pid.pb.gz" 2>"$out/pid.txt"
	status=$?
	share=$(complete_share "$out/pid.txt")
	kill $burner
	wait $burner 2>/dev/null
	if [ $status != 0 ]; then
		failed "record -p" "exit status $status: $(tail -n 3 "$out/pid.txt")"
	elif [ "${share:-0}" -lt 80 ]; then
		failed "record -p" "$(grep ^stacks: "$out/pid.txt")"
	else
		check_functions "record -p" "$out/pid.pb.gz" 'spin inner outer main'
	fi
}

# The whole machine, kernel included. Much of it is analysed while it is sampled already.
check_machine() {
	/t/syscalls 40 >/dev/null &
	reader=$!
	/t/burner_static 40 >/dev/null &
	burner=$!
	"$profiler" record -F $freq -a -d 4 -o "$out/machine.pb.gz" 2>"$out/machine.txt"
	status=$?
	share=$(complete_share "$out/machine.txt")
	kill $reader $burner
	wait $reader $burner 2>/dev/null
	if [ $status != 0 ]; then
		failed "record -a" "exit status $status: $(tail -n 3 "$out/machine.txt")"
	elif [ "${share:-0}" -lt 60 ]; then
		failed "record -a" "$(grep ^stacks: "$out/machine.txt")"
	else
		check_functions "record -a" "$out/machine.pb.gz" 'spin outer read_zeros vfs_read'
	fi
}

# A CPU goes and comes back while it is sampled: what runs on it afterwards must be seen.
check_hotplug() {
	"$profiler" record -F $freq -a -d 12 -o "$out/hotplug.pb.gz" 2>"$out/hotplug.txt" &
	recorder=$!
	sleep 4
	echo 0 >/sys/devices/system/cpu/cpu1/online && sleep 1
	echo 1 >/sys/devices/system/cpu/cpu1/online || failed hotplug "no second CPU"
	sleep 2
	taskset 2 /t/burner_static 4 >/dev/null
	wait $recorder
	status=$?
	if [ $status != 0 ]; then
		failed hotplug "exit status $status: $(tail -n 3 "$out/hotplug.txt")"
	else
		check_functions hotplug "$out/hotplug.pb.gz" 'spin outer'
	fi
}

# Programs of 50 ms, one after the other, and some that leave much memory to the kernel to free.
check_short() {
	cat >/tmp/short.sh <<-'END'
	for i in $(seq 40); do /t/shortlived 50; done
	for i in $(seq 6); do /t/bigexit 64; done
	END
	check_record short 'short_leaf touch_all' /bin/sh /tmp/short.sh
}

# check_languages PREFIX: what each language adds; PREFIX is of the names of its recordings.
check_languages() {
	prefix=$1
	for check in /t/checks/*.sh; do
		[ ! -f "$check" ] || . "$check"
	done
}

# Interpreted programs share one stack frame: that of the first, whatever languages come after it.
# The last checks: a kernel may die of it.
check_interpreter() {
	echo 0 >/proc/sys/net/core/bpf_jit_enable
	check_record interpreted 'spin inner outer main' /t/burner $seconds
	complete=75
	check_languages interpreted_
	check_record interpreted_jit 'busy bounce call_stub run main' /t/jit $seconds turns 10
	check_record interpreted_leap 'spin leap swing main' /t/leap $seconds 8
}

# counter_below COUNT FILE NAME...: prints the first counter of the agent's last words below COUNT.
counter_below() {
	least=$1 log=$2
	shift 2
	for counter; do
		n=$(sed -n "s/^ *\([0-9][0-9]*\)  $counter\$/\1/p" "$log" | tail -n 1)
		if [ "${n:-0}" -lt "$least" ]; then
			echo "${n:-no} $counter"
			return
		fi
	done
}

# Until the agent says that it samples: a busy machine takes its time.
wait_sampling() {
	for i in $(seq 60); do
		! grep -q 'sampling at' "$1" || return
		sleep 0.5
	done
}

# The sample configuration, but a file every 2 s into a directory of the test. The programs that come
# and go meanwhile must be noticed, by tracepoints and by perf's side-band records.
check_agent() {
	mkdir -m 700 "$out/agent"
	sed -e 's/^interval = .*/interval = "2s"/' -e "s|^directory = .*|directory = \"$out/agent\"|" \
		/t/profiler.toml >/tmp/agent.toml
	"$profiler" --config /tmp/agent.toml 2>"$out/agent.txt" &
	agent=$!
	wait_sampling "$out/agent.txt"
	sleep 2
	for i in 1 2 3 4 5; do
		/t/burner 0.1 >/dev/null
	done
	sleep 3
	kill -TERM $agent
	wait $agent
	status=$?
	files=$(ls "$out/agent"/*.otlp.gz 2>/dev/null | wc -l)
	frames='frames walked in one run of the unwinder'
	refused=$(counter_below 36 "$out/agent.txt" "$frames")
	few=$(counter_below 5 "$out/agent.txt" forks execs exits 'new executable mappings')
	# The program and two libraries; the vDSO, which is known in any case, is 8 of them.
	unknown=$(counter_below 12 "$out/agent.txt" 'new mappings of files that were known')
	if [ $status != 0 ]; then
		failed agent "exit status $status on SIGTERM: $(tail -n 3 "$out/agent.txt")"
	elif [ "$files" -lt 2 ]; then
		failed agent "$files files in 6 s: $(tail -n 3 "$out/agent.txt")"
	elif [ -n "$few" ]; then
		failed agent "5 programs were started, but it counted $few"
	elif [ -n "$unknown" ]; then
		failed agent "one program was started 5 times, but of its files it counted $unknown"
	elif grep -q 'is not on the list' "$out/agent.txt"; then
		failed agent "$(grep -m 1 'is not on the list' "$out/agent.txt")"
	elif [ -n "$refused" ]; then
		failed agent "$refused, as the verifier has refused 36"
	else
		ok agent
	fi
}

# Descriptor and BPF program of each language; how the kernel took that is said on the console.
check_plugins() {
	for plugin in /t/plugins/*.so; do
		"$profiler" plugins --check "$plugin" >"$out/plugin.txt" 2>&1
		status=$?
		sed -n 's/^ok *BPF */loaded: /p' "$out/plugin.txt"
		[ $status != 0 ] || continue
		failed "plugins --check $plugin" "$(tail -n 1 "$out/plugin.txt")"
		return
	done
	ok "plugins --check"
}

check_doctor
check_plugins
if [ -f /t/only ]; then # what languages add, alone
	complete=75
	check_languages ''
	echo 0 >/proc/sys/net/core/bpf_jit_enable
	check_languages interpreted_
	exit
fi
check_record burner 'spin inner outer main __libc_start_main _start' /t/burner $seconds
check_record burner_static 'spin inner outer main _start' /t/burner_static $seconds
check_record deep 'spin down main _start' /t/deep $seconds
check_record signals 'main _start' /t/signals $seconds
check_record syscalls 'read_zeros main _start vfs_read' /t/syscalls $seconds
check_record forks 'spin be_a_child main _start' /t/forks $seconds
freq=199 complete=80
check_short
freq=49 complete=90
# Until a plugin is attached, which takes emulation a second, nobody can unwind leap; and a program
# that loads libraries is sampled before its tables are.
complete=75
check_languages ''
check_record toy 'spin inner outer main' /t/toy $seconds 6
export JIT_REST_MS=75000 # its unwinder takes a verifier up to a minute, under emulation: 64 frames, then 32
check_record jit 'gap_inner entry_stub no_rules_callback main' /t/jit $seconds gap
check_record leap 'spin leap swing main' /t/leap $seconds 8
complete=90
check_pid
check_machine
check_agent
check_hotplug
check_interpreter

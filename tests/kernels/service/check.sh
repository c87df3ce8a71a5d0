# SPDX-License-Identifier: Apache-2.0
#
# The service in a guest that systemd has booted, run in /t by run.sh: what its unit promises. Prints a line "ok NAME" or
# "FAILED NAME: WHY" for each check; profiles go to /t/out, where the host looks at their times. A busy machine stops an
# emulated guest for seconds: what is to happen is waited for.
. ./say.sh
export SYSTEMD_PAGER=cat SYSTEMD_COLORS=0
service=ebpf-profiler
state=/var/lib/ebpf-profiler
out=/t/out
words='sampling at 20 Hz'
watchdog_s=60	# in place of the unit's two minutes
turns=300	# of a second and a question to systemd: to wait for anything, at most

show() {
	systemctl show --value -p "$1" $service
}

is() {
	[ "$(show "$1")" = "$2" ]
}

journal() {
	journalctl --no-hostname --no-pager -q -o cat -u $service
}

has_said() {
	journal | grep -qF "$1"
}

n_profiles() {
	ls $state/*.pb.gz 2>/dev/null | wc -l
}

has_profiles() {
	[ "$(n_profiles)" -ge "$1" ]
}

# wait_until CONDITION ARG...
wait_until() {
	turn=0
	until "$@"; do
		turn=$((turn + 1))
		[ $turn -lt $turns ] || return 1
		sleep 1
	done
}

# expect WHAT VALUE WANTED: adds to $why
expect() {
	[ "$2" = "$3" ] || why="$why$1 is '$2', not '$3'; "
}

# judge NAME WHY: WHY is empty when all is well; else also what the service has said last.
judge() {
	if [ -z "$2" ]; then
		ok "$1"
	else
		failed "$1" "$2"
		systemctl show -p ActiveState,SubState,Result,StatusText,MainPID,NRestarts,ExecMainCode,ExecMainStatus $service
		journal | tail -n 12
	fi
}

# The image has neither: sysusers.d and tmpfiles.d were read when the system booted.
check_made() {
	why=
	grep -q '^ebpf-profiler:' /etc/group || why="no group ebpf-profiler"
	[ "$(stat -c '%a %u:%g' $state)" = '700 0:0' ] || why="$state is $(stat -c '%a %u:%g' $state 2>&1)"
	judge 'what it needs was made' "$why"
}

# It is active when it samples and has said so, and not before.
check_start() {
	systemctl enable --quiet $service
	systemctl start --no-block $service
	turn=0 why='it never became active'
	while [ $turn -lt $turns ]; do
		turn=$((turn + 1))
		now=$(systemctl show -p ActiveState -p StatusText $service)
		case $now in
		*ActiveState=failed*)
			why='it failed'
			break ;;
		*ActiveState=active*)
			why=
			break ;;
		esac
		sleep 0.2
	done
	if [ -z "$why" ]; then
		expect 'status when it is active' "$(echo "$now" | sed -n 's/^StatusText=//p')" "$words"
		expect Type "$(show Type)" notify
		wait_until has_said "agent: $words" || why="${why}it does not say that it samples; "
	fi
	judge 'active when it samples' "$why"
}

# status_of NAME: of /proc/PID/status
status_of() {
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status"
}

# check_rights NAME. CAP_DAC_READ_SEARCH 2, CAP_SYS_PTRACE 19, CAP_SYSLOG 34, CAP_PERFMON 38, CAP_BPF 39,
# CAP_CHECKPOINT_RESTORE 40, and where perf_event_paranoid is 3 CAP_SYS_ADMIN, 21.
check_rights() {
	pid=$(show MainPID) why=
	caps=000001c400080004
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ] || caps=000001c400280004
	expect CapEff "$(status_of CapEff)" $caps
	expect CapPrm "$(status_of CapPrm)" $caps
	for set in CapInh CapBnd CapAmb; do
		expect $set "$(status_of $set)" 0000000000000000
	done
	expect NoNewPrivs "$(status_of NoNewPrivs)" 1
	expect Seccomp "$(status_of Seccomp)" 2
	expect Umask "$(status_of Umask)" 0077
	expect oom_score_adj "$(cat "/proc/$pid/oom_score_adj")" 300
	expect 'size of core files' "$(sed -n 's/^Max core file size *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p' "/proc/$pid/limits")" '0 0'
	judge "$1" "$why"
}

# mount_of DIRECTORY: "ro" or "rw", as the service sees it.
mount_of() {
	awk -v place="$1" '$5 == place { split($6, options, ","); how = options[1] } END { print how }' "/proc/$pid/mountinfo"
}

check_files() {
	pid=$(show MainPID) why=
	expect / "$(mount_of /)" ro
	expect $state "$(mount_of $state)" rw
	expect 'number of open files' "$(sed -n 's/^Max open files *\([^ ]*\) .*/\1/p' "/proc/$pid/limits")" 65536
	judge 'it may write its profiles alone' "$why"
}

# ask_for_profile: by SIGHUP
ask_for_profile() {
	before=$(n_profiles)
	sleep 5
	systemctl kill -s HUP --kill-who=main $service
	wait_until has_profiles $((before + 1)) || why="${why}no profile after SIGHUP; "
}

has_function() {
	gunzip -c $state/*.pb.gz | grep "$1" >/dev/null
}

# Two at least: the host sees what is between them. Their program was started before the profiler, which reads it first.
check_profiles() {
	pid=$(show MainPID) why= asked=1
	ask_for_profile
	ask_for_profile
	until has_function outer; do
		asked=$((asked + 1))
		[ $asked -lt 20 ] && [ -z "$why" ] || {
			why="${why}no function of the program that ran; "
			break
		}
		ask_for_profile
	done
	expect ActiveState "$(show ActiveState)" active
	expect MainPID "$(show MainPID)" "$pid"
	expect 'mode of profiles' "$(stat -c '%a %u:%g' $state/* | sort -u)" '600 0:0'
	cp $state/*.pb.gz $out
	judge 'profiles when it is asked to' "$why"
}

is_fed_again() {
	[ "$(show WatchdogTimestampMonotonic)" != "$fed" ]
}

# Three signs of life are more than its time.
check_watchdog() {
	pid=$(show MainPID) why=
	expect WatchdogUSec "$(show WatchdogUSec)" 1min
	for sign in 1 2 3; do
		fed=$(show WatchdogTimestampMonotonic)
		wait_until is_fed_again || why="$why$((sign - 1)) signs of life; "
	done
	expect MainPID "$(show MainPID)" "$pid"
	expect NRestarts "$(show NRestarts)" 0
	judge 'signs of life' "$why"
}

is_replaced() {
	is ActiveState active && ! is MainPID "$pid"
}

# A process that is stopped is one that hangs.
check_hang() {
	pid=$(show MainPID) why=
	kill -STOP "$pid"
	wait_until is_replaced || why='the watchdog did not replace it; '
	wait_until has_said 'Watchdog timeout' || why="${why}the watchdog said nothing; "
	expect NRestarts "$(show NRestarts)" 1
	expect StatusText "$(show StatusText)" "$words"
	[ ! -d "/proc/$pid" ] || why="${why}the old process is there; "
	judge 'one that hangs is replaced' "$why"
}

check_stop() {
	why=
	sleep 5
	before=$(n_profiles)
	systemctl stop $service || why="systemctl stop fails; "
	expect ActiveState "$(show ActiveState)" inactive
	expect Result "$(show Result)" success
	expect ExecMainStatus "$(show ExecMainStatus)" 0
	expect StatusText "$(show StatusText)" 'writing what was sampled'
	[ "$(n_profiles)" -gt "$before" ] || why="${why}no last profile; "
	left=$(ls $state | grep -v '\.pb\.gz$')
	expect 'beside the profiles' "$left" ''
	judge 'it stops' "$why"
}

# perf_event_paranoid is 3 when the guest comes up: six capabilities, and one more.
check_restart() {
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	systemctl start $service || true
	check_rights 'rights where perf_event_paranoid is 2'
	systemctl stop $service
}

# One sentence, and nobody tries again what cannot help.
check_mistake() {
	why=
	config=$(systemctl cat $service | sed -n 's/^ExecStart=.* --config //p')
	sed -i 's/^freq = .*/freq = 0/' "$config"
	since=$(journal | wc -l)
	systemctl start $service 2>/dev/null && why='it starts; '
	wait_until has_said "$config:" || why="${why}it does not say why; "
	expect ActiveState "$(show ActiveState)" failed
	expect ExecMainStatus "$(show ExecMainStatus)" 2
	expect NRestarts "$(show NRestarts)" 0
	said=$(journal | tail -n "+$((since + 1))" | grep -F "$config:")
	[ "$(echo "$said" | wc -l)" = 1 ] || why="${why}it says '$said'; "
	case $said in
	*': freq must be '*) ;;
	*) why="${why}it says '$said'; " ;;
	esac
	judge 'a mistake in the configuration' "$why"
}

mkdir -p "/run/systemd/system/$service.service.d"
printf '[Service]\nWatchdogSec=%s\n' $watchdog_s >"/run/systemd/system/$service.service.d/test.conf"
systemctl daemon-reload
/t/burner 100000 >/dev/null &
check_made
check_start
check_rights rights
check_files
check_profiles
check_watchdog
check_hang
check_stop
check_restart
check_mistake
journal >$out/journal.txt

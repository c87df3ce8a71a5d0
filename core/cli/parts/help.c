/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/help.h"
#include "core/cli/parts/filter_args.h"

static const char program_help[] =
	"usage: ebpf-profiler --config FILE [--check | --print-config] [-q] [-v]\n"
	"       ebpf-profiler record [-F HZ] [-p PID,..] [-a] [-d TIME] [-o FILE]..\n"
	"           [-- CMD ARG..]\n"
	"       ebpf-profiler report [--by WHAT] [--tree] [--list FUNC] [filter]..\n"
	"           [FILE]..\n"
	"       ebpf-profiler convert FILE.. -o OUT [filter]..\n"
	"       ebpf-profiler diff BEFORE AFTER [-o FILE] [--total] [--fail-above N]\n"
	"           [filter]..\n"
	"       ebpf-profiler top [-F HZ] [-p PID,..] [-a] [-d TIME] [-- CMD ARG..]\n"
	"       ebpf-profiler doctor [--json]\n"
	"       ebpf-profiler plugins [--check FILE | --new NAME [--jit]]\n"
	"       ebpf-profiler dump {-p PID | --core FILE}\n"
	"       ebpf-profiler capture {-p PID | --core FILE} -o FILE\n"
	"\n"
	"Profiles a whole Linux machine: kernel and native code, without frame pointers,\n"
	"with no change to what runs. As root (see doctor for the capabilities that are\n"
	"enough).\n"
	"\n"
	"  --config FILE    run as the agent until SIGTERM, exporting what FILE says\n"
	"  --check          only say what is wrong with FILE\n"
	"  --print-config   only print FILE, environment and defaults as one\n"
	"                   configuration\n"
	"  -q, --quiet      warnings and errors only\n"
	"  -v, --verbose    say more\n"
	"  -h, --help       this text; 'ebpf-profiler record --help' for a command\n"
	"  -V, --version    the version\n"
	"\n"
	"  record           profile a command, processes or the machine, and write a file\n"
	"  report           where the time went: tables, trees, source with its cost\n"
	"  convert          a profile in another format, filtered, merged, named\n"
	"  diff             what differs between two profiles by more than chance\n"
	"  top              where the time goes now, on the terminal\n"
	"  doctor           what this kernel and these privileges allow, and how to fix\n"
	"                   the rest\n"
	"  plugins          the plugins that are installed, and their options\n"
	"  dump             what all threads of a process do now: their stacks, in all\n"
	"                   languages\n"
	"  capture          the stacks of a process as a file that can be replayed, for\n"
	"                   bug reports\n"
	"\n"
	"Every key of the configuration can be set in the environment, which wins over\n"
	"the file: EBPF_PROFILER_SAMPLING_FREQ=50.\n"
	"\n"
	"exit status: 0 ok, 1 failed, 2 usage, 3 permission, 4 kernel cannot, 5 no\n"
	"samples, 6 below --min-complete or --min-named, 126 a command cannot be run, 127\n"
	"there is none\n";

static const char record_help[] =
	"usage: ebpf-profiler record [option].. [--] [CMD ARG..]\n"
	"\n"
	"Profiles CMD and what it starts, or the processes of -p and what they start, or,\n"
	"with neither or with -a, the whole machine; of that, what further options\n"
	"choose; until -d is over, CMD ends, or Ctrl-C. Writes a file and prints a\n"
	"summary on stderr. With -p or -a, CMD only says how long, as in perf.\n"
	"\n"
	"  -F, --freq HZ       samples per second on every CPU: 99 (also -r, --rate)\n"
	EP_FILTER_HELP
	"  -a, --all-cpus      the whole machine\n"
	"  -d, --duration T    10, 10s, 500ms, 1m30s\n"
	"  -o, --output FILE   where to; the extension is the format: .html (a page to\n"
	"                      look at and to send), .otlp.gz (the same without the\n"
	"                      page), .pb.gz or .pprof (pprof), .svg (a flame graph),\n"
	"                      .folded (flamegraph.pl), .perf.txt (as perf script),\n"
	"                      .json.gz (Firefox Profiler), .pgo (go build -pgo). Can be\n"
	"                      repeated; '-' is standard output. Without -o:\n"
	"                      profile-NAME-TIME.html here, NAME being the command's or\n"
	"                      the host's\n"
	"  -f, --format NAME   the format whatever the extension: html, otlp, pprof, svg,\n"
	"                      folded, perf, firefox, pgo; of the -o that follow, and of\n"
	"                      '-'\n"
	"      --force         overwrite a file that exists\n"
	"      --keep-root     run CMD as root, not as the user who called sudo\n"
	"      --min-complete PCT  end with exit status 6 when less of the CPU time than\n"
	"                      this has complete stacks (first figure of the summary's\n"
	"                      line \"stacks\")\n"
	"      --min-named PCT     the same for stacks that are complete and in which all\n"
	"                      frames of languages have their names (first figure of its\n"
	"                      line \"names\")\n"
	"  -g, --call-graph X  accepted as in perf, without effect: stacks are always\n"
	"                      recorded\n"
	"  -q, --quiet         no summary, and no line a second on a terminal\n"
	"  -v, --verbose       say more, and which executables spoil the most stacks\n"
	"  -h, --help          this text\n"
	"\n"
	"CMD's exit status is passed on, unless it is 0. When -d is over, CMD and what it\n"
	"started are ended, by SIGTERM and 2 s later by SIGKILL. No samples of a CMD are\n"
	"a warning, of -p or -a an error.\n"
	"\n"
	"  ebpf-profiler record -d 10                        the machine for 10 seconds\n"
	"  ebpf-profiler record -F 199 -o out.pb.gz -- make  a build\n"
	"  go tool pprof -top out.pb.gz                      read it\n"
	"  ebpf-profiler record -d 5 -o out.svg              a picture for a ticket\n";

static const char doctor_help[] =
	"usage: ebpf-profiler doctor [--json]\n"
	"\n"
	"One line for each thing that profiling needs: ok, info, warn or fail, what was\n"
	"found, and what to type when it is not good; then what the languages of running\n"
	"processes advise for better profiles of them. It only reads. --json prints an\n"
	"array of {check, status, detail, fix}.\n"
	"\n"
	"exit status: 0 profiling can work, 3 privileges are missing, 4 the kernel cannot\n";

static const char plugins_help[] =
	"usage: ebpf-profiler plugins [--check FILE | --new NAME [--jit]]\n"
	"\n"
	"Lists the plugins of the plugin directory: version, kind, ABI, whether they can\n"
	"be used and if not why; of exporters their options: type, default, what for.\n"
	"EBPF_PROFILER_PLUGINS_DIR names another directory.\n"
	"\n"
	"  --check FILE    only this one: its descriptor, and for an unwinder also\n"
	"                  whether it leaves other programs alone and whether this kernel\n"
	"                  takes its BPF program\n"
	"  --new NAME      make a directory NAME with an unwinder for the language NAME\n"
	"                  to begin with: a toy interpreter's, with its tests; then: cd\n"
	"                  NAME && make check\n"
	"  --jit           with --new: a toy JIT's\n"
	"\n"
	"exit status of --check: 0 it can be used, 1 it cannot, 3 privileges are missing,\n"
	"4 the kernel cannot\n";

static const char capture_help[] =
	"usage: ebpf-profiler capture {-p PID | --core FILE} [-t TID] -o FILE\n"
	"\n"
	"Records the stacks of all threads of a process, with everything they were found\n"
	"and named by: registers, mappings, the pieces of memory that were read (they may\n"
	"hold anything the process keeps there: look who you send them to), unwind rules\n"
	"and names. FILE replays them anywhere, without the process, its files, or\n"
	"privileges. Before it is written it is replayed, and must give the same stacks;\n"
	"these go to standard output.\n"
	"\n"
	"  -p, --pid PID      a process; it is stopped with ptrace for some milliseconds,\n"
	"                     and nothing is written into it\n"
	"  -t, --tid TID      only this thread; TID,TID.. for more\n"
	"      --core FILE    a core file of x86-64 or aarch64, instead; files it names\n"
	"                     are read from disk\n"
	"  -o, --output FILE  where to; a file that exists is not overwritten\n"
	"  -q, --quiet        no summary on standard error\n"
	"  -v, --verbose      say more\n"
	"  -h, --help         this text\n";

static const char dump_help[] =
	"usage: ebpf-profiler dump {-p PID | --core FILE} [-t TID]\n"
	"\n"
	"Prints the stacks of all threads of a process once, running or waiting: native\n"
	"code and the languages of all plugins in one stack, innermost frame first. The\n"
	"process stands still for some milliseconds.\n"
	"\n"
	"  -p, --pid PID      a process; it is stopped with ptrace, and nothing is written\n"
	"                     into it\n"
	"  -t, --tid TID      only this thread; TID,TID.. for more\n"
	"      --core FILE    a core file of x86-64 or aarch64, instead; files it names are\n"
	"                     read from disk\n"
	"  -q, --quiet        no summary on standard error\n"
	"  -v, --verbose      say more\n"
	"  -h, --help         this text\n";

void ep_help_print(FILE *out, enum ep_command topic)
{
	switch (topic) {
	case EP_COMMAND_RECORD:
		fputs(record_help, out);
		break;
	case EP_COMMAND_REPORT:
		fputs(ep_report_help, out);
		break;
	case EP_COMMAND_CONVERT:
		fputs(ep_convert_help, out);
		break;
	case EP_COMMAND_DIFF:
		fputs(ep_diff_help, out);
		break;
	case EP_COMMAND_TOP:
		fputs(ep_top_help, out);
		break;
	case EP_COMMAND_DOCTOR:
		fputs(doctor_help, out);
		break;
	case EP_COMMAND_CAPTURE:
		fputs(capture_help, out);
		break;
	case EP_COMMAND_DUMP:
		fputs(dump_help, out);
		break;
	case EP_COMMAND_PLUGINS:
		fputs(plugins_help, out);
		break;
	default:
		fputs(program_help, out);
	}
}

void ep_version_print(FILE *out)
{
	fprintf(out, "ebpf-profiler %s\n", EP_VERSION);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filterstorm HOW N [DIRECTORY]: a thousand forks a second until there were N, each burns 0.4 ms of its
 * own CPU time in chosen_burn or, every other one, in other_burn, and ends. HOW the chosen ones differ:
 *
 *	name     they call themselves "chosen", by prctl; the others "other"
 *	exec     they execute DIRECTORY/chosen; the others DIRECTORY/other: links to this program
 *	user     they become nobody
 *	move     they move to the cgroup DIRECTORY, which is made before the first one
 *	chosen   they do not: all are
 *	other    none is
 *
 * Prints "chosen NS PID..." and "other NS PID...": the CPU time spent in these functions by itself.
 */
#include "zoo.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BURN_NS	 400000u
#define PAUSE_NS 600000
#define MAX	 20000
#define FD	 100
#define NOBODY	 65534

/* Shared with all children, and with what they execute. */
struct sums {
	uint64_t ns[2]; /* others, chosen */
};

static struct sums *sums;
static volatile uint64_t sink;

static uint64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

ZOO_INLINE uint64_t burn(void)
{
	uint64_t from = used_ns(), now = from;

	while (now - from < BURN_NS) {
		for (unsigned int i = 0; i < 2000; i++)
			sink += i;
		now = used_ns();
	}
	return now - from;
}

KEEP uint64_t chosen_burn(void)
{
	uint64_t ns = burn();

	BARRIER();
	return ns;
}

KEEP uint64_t other_burn(void)
{
	uint64_t ns = burn();

	BARRIER();
	return ns;
}

static void map_sums(void)
{
	sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED, FD, 0);
	if (sums == MAP_FAILED)
		_exit(9);
}

static void run(int is_chosen)
{
	uint64_t ns = is_chosen ? chosen_burn() : other_burn();

	__atomic_fetch_add(&sums->ns[is_chosen], ns, __ATOMIC_RELAXED);
	_exit(0);
}

static void move(const char *directory)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(8);
	close(fd);
}

static void differ(const char *how, int is_chosen, const char *directory)
{
	const char *name = is_chosen ? "chosen" : "other";
	char path[4096];

	if (strcmp(how, "name") == 0)
		prctl(PR_SET_NAME, name);
	else if (strcmp(how, "user") == 0 && is_chosen &&
		 (setgroups(0, NULL) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		_exit(7);
	else if (strcmp(how, "move") == 0 && is_chosen)
		move(directory);
	if (strcmp(how, "exec") != 0)
		return;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	execl(path, name, "run", name, (char *)NULL);
	_exit(6);
}

static void storm(const char *how, unsigned int n, const char *directory, pid_t *pids)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (unsigned int i = 0; i < n; i++) {
		int is_chosen = strcmp(how, "other") != 0 && (i % 2 || strcmp(how, "chosen") == 0);

		pids[i] = fork();
		if (pids[i] == 0) {
			differ(how, is_chosen, directory);
			run(is_chosen);
		}
		if (!is_chosen)
			pids[i] = -pids[i];
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nanosleep(&pause, NULL);
	}
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void print_kind(const char *name, int is_chosen, const pid_t *pids, unsigned int n)
{
	printf("%s %llu", name, (unsigned long long)sums->ns[is_chosen]);
	for (unsigned int i = 0; i < n; i++)
		if ((pids[i] > 0) == is_chosen)
			printf(" %d", pids[i] > 0 ? pids[i] : -pids[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	static pid_t pids[MAX];
	unsigned int n = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	int fd;

	if (argc > 2 && strcmp(argv[1], "run") == 0) {
		map_sums();
		run(strcmp(argv[2], "chosen") == 0);
	}
	if (argc < 3 || n > MAX)
		return 2;
	fd = memfd_create("sums", 0);
	if (fd < 0 || ftruncate(fd, 4096) < 0 || dup2(fd, FD) < 0)
		return 1;
	map_sums();
	if (strcmp(argv[1], "move") == 0 && argc > 3)
		(void)mkdir(argv[3], 0755);
	storm(argv[1], n, argc > 3 ? argv[3] : "", pids);
	print_kind("chosen", 1, pids, n);
	print_kind("other", 0, pids, n);
	return 0;
}

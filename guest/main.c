/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-guest: runs a whole guest with QEMU on the CPUs and memory nodes that it may use. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.h"
#include "config.h"
#include "guest/follow.h"
#include "guest/keeper.h"
#include "guest/setup.h"

static const char guest_usage[] =
	"Usage: nodeos-guest [OPTION]... PROGRAM [ARGUMENT]...\n"
	"       nodeos-guest [OPTION]... --image=FILE|--restore=FILE\n"
	"Run a whole guest with QEMU on the CPUs and memory nodes that this process may use: a "
	"program\n"
	"with the host's kernel and files, or an image, whose serial console is standard input "
	"and\n"
	"output.\n"
	"\n"
	"  -i, --image=FILE     boot this image: a JSON object with kernel, initrd, append, disk, "
	"iso\n"
	"  -R, --restore=FILE   continue a guest that \"nodeosctl guest save\" has saved\n"
	"  -m, --memory=SIZE    memory of the guest, such as 512M or 4G (default 512M)\n"
	"  -p, --page=2M|1G     take the memory from huge pages of this size\n"
	"  -c, --cpus=LIST      CPUs of the host, one for each CPU of the guest (default: all)\n"
	"  -M, --mems=LIST      memory nodes of the host (default: all)\n"
	"  -e, --emulate        emulate the processor; the default is KVM\n"
	"  -g, --grace=SECONDS  time from SIGTERM until QEMU is killed (default 20)\n"
	"  -q, --qemu=FILE      program of QEMU (default: qemu-system-x86_64 in PATH)\n"
	"  -k, --kernel=FILE    kernel for a program, a bzImage (default: the host's)\n"
	"  -o, --modules=DIR    directory of its modules (default: /lib/modules/RELEASE)\n"
	"  -a, --agent=FILE     first process for a program (default: nodeos-guest-init)\n"
	"  -f, --virtiofsd=FILE server of files for a program (default: /usr/libexec/virtiofsd)\n"
	"  -N, --network=WORD   network of a program: user (the user's own connections; default) "
	"or\n"
	"                       none\n"
	"  -G, --given=KVM[,MEMORY]...\n"
	"                       for a program: open descriptors of KVM and of the guest's memory\n"
	"  -r, --rank=NUMBER,RANKS,SEND,RECEIVE\n"
	"                       for a program: a rank of a guest with several, with descriptors\n"
	"  -n, --dry-run        print QEMU's command line, one word on each line\n"
	"  -h, --help           print this\n"
	"  -V, --version        print the version\n";

static int print_error(const struct errbuf *err)
{
	char line[PRINTABLE_LOG_MAX];

	fprintf(stderr, "nodeos-guest: %s\n", printable(line, sizeof(line), err->text));
	return GUEST_EXIT_NEVER;
}

static int print_command(struct guest_run *run, struct errbuf *err)
{
	char **words;

	run->plan.qmp_fd = 3;
	run->plan.console_fd = 4;
	run->plan.incoming = run->restore >= 0;
	run->plan.incoming_fd = 5;
	words = guest_command(&run->plan, err);
	if (!words)
		return -1;
	for (char **w = words; *w; w++)
		puts(*w);
	guest_command_free(words);
	return fflush(stdout) == 0 ? 0 : errprintf(err, "standard output: %s", strerror(errno));
}

static int run_image(const struct guest_options *o, struct errbuf *err)
{
	static struct guest_setup setup;
	int rc = guest_setup_make(&setup, o, err);

	if (rc == 0)
		rc = o->dry_run ? print_command(&setup.run, err) : guest_watch(&setup.run, err);
	guest_setup_free(&setup);
	return rc;
}

/* Make the two sockets of this rank, and send their other ends to the keeper of its guest. */
static int meet_keeper(struct meet_rank *own, const struct guest_options *o, struct errbuf *err)
{
	int agent[2], control[2], rc;
	struct meet_rank others;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, agent) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	*own = (struct meet_rank){ .agent = agent[0], .control = control[0] };
	others = (struct meet_rank){ .agent = agent[1], .control = control[1] };
	rc = meet_send(o->meet_send, o->rank, &others, err);
	close(others.agent);
	close(others.control);
	return rc;
}

static int run_rank(struct guest_options *o, int *killed_by, struct errbuf *err)
{
	struct follow f = { .argv = o->argv, .tells = o->rank == 0 };
	bool alone = o->meet_send < 0;
	int pair[2], rc;
	pid_t keeper = -1;

	/*
	 * end with slurmstepd: Slurm forgets a step whose slurmstepd is killed, so nothing else
	 * would end it
	 */
	if (!alone)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (alone) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return errprintf(err, "socketpair: %s", strerror(errno));
		o->meet_send = pair[0];
		o->meet_receive = pair[1];
	}
	if (o->rank == 0) {
		keeper = keeper_start(o, err);
		if (keeper < 0)
			return -1;
		close(o->meet_receive);
	}
	rc = meet_keeper(&f.ends, o, err);
	close(o->meet_send);
	if (rc == 0)
		rc = follow_program(&f, err);
	*killed_by = f.killed_by;
	close(f.ends.control);
	if (alone)
		/*
		 * a lone rank waits until nothing is left; ranks of a shared guest do not wait for
		 * each other
		 */
		waitpid(keeper, NULL, 0);
	return rc;
}

/* End by the signal that ended the program, so that slurmstepd sees it. */
static void end_by(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	setrlimit(RLIMIT_CORE, &none); /* the guest's program is not in this process */
	signal(number, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}

int main(int argc, char **argv)
{
	struct guest_options o;
	struct errbuf err = { 0 };
	int rc, killed_by = 0;

	if (guest_options_parse(&o, argc, argv, &err) < 0)
		return print_error(&err);
	if (o.help || o.version) {
		fputs(o.help ? guest_usage : "nodeos-guest (nodeos) " VERSION "\n", stdout);
		return 0;
	}
	rc = o.image || o.restore || o.dry_run ? run_image(&o, &err)
					       : run_rank(&o, &killed_by, &err);
	if (rc >= 0 && killed_by)
		end_by(killed_by);
	return rc < 0 ? print_error(&err) : rc;
}

/* supervise.c - the loop: handles signals, reads memory, and receives snapshots.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/run/supervise.h"

#include "base/note.h"
#include "base/time.h"
#include "live/run/begin.h"
#include "live/run/inside.h"
#include "live/run/listen.h"
#include "process/clock.h"
#include "process/proc.h"
#include "process/tree.h"
#include "protocol/handover_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t second = CAIRN_SECOND_NS;
/* Reading the memory of the tree and profiling it take time: each may use only a small share of it. */
enum { look_ms = 100, list_ms = 300, look_share = 100, profile_ms = 250, profile_share = 50 };
enum { highest_patience_ms = 20000, signal_patience_ms = 3000, end_window_seconds = 10, guests_most = 32 };
static const uint64_t least_growth = 4 << 20, least_worth = 8 << 20;

/* A process that is ending and has asked whether its snapshot is wanted. */
struct guest {
	int descriptor, pid;
	int64_t granted_ns; /* 0 where it is not */
};

struct loop {
	struct cairn_supervision *run;
	struct cairn_members members;
	struct cairn_run_inside inside;
	int signals, listener, terminal; /* descriptors; the last is -1 if the command shares our group */
	bool handed;       /* the terminal is the command's */
	bool ended;        /* the command has */
	bool is_stopping;  /* a signal to end was passed on */
	struct guest guests[guests_most];
	int64_t look_ns, list_ns, profile_ns; /* when the next are due */
	int64_t accept_ns; /* nobody is let in before that */
	int64_t began_ns, granted_ns; /* the last: what handing over has taken in all */
};

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM, SIGTSTP};

/* The abstract socket that agents find by $CAIRN_REPORT; -1 if there is none. */
static int open_listener(void)
{
	char name[64];
	uint64_t random = 0;
	(void)!getrandom(&random, sizeof random, 0);
	snprintf(name, sizeof name, "cairn-run-%d-%016llx", getpid(), (unsigned long long)random);
	int descriptor = cairn_run_listen(name);
	if (descriptor >= 0)
		setenv("CAIRN_REPORT", name, 1);
	return descriptor;
}

static void look_at_members(struct loop *loop, int64_t now, bool anew)
{
	if (anew || now >= loop->list_ns) {
		cairn_members_list(&loop->members, getpid());
		loop->list_ns = now + list_ms * CAIRN_MILLISECOND_NS;
	}
	cairn_members_look(&loop->members, now);
	if (loop->members.anonymous > loop->run->most)
		loop->run->most = loop->members.anonymous;
}

/* Whether the snapshot of the ending process is wanted: always that of the command itself; of others that hold something, while this
 * takes little of the time. */
static bool is_wanted(struct loop *loop, int pid)
{
	if (!loop->run->takes_profiles || loop->is_stopping)
		return false;
	if (pid == loop->run->pid)
		return true;
	look_at_members(loop, cairn_clock_ns(), true);
	for (size_t i = 0; i < loop->members.count; i++)
		if (loop->members.items[i].life.pid == pid && loop->members.items[i].anonymous >= least_worth)
			return loop->granted_ns <= second / 5 + (cairn_clock_ns() - loop->began_ns) / profile_share;
	return false;
}

/* As when there is no descriptor left: who waits goes on waiting, and the loop must not run round for it. */
static void pause_accepting(struct loop *loop)
{
	loop->accept_ns = cairn_clock_ns() + look_ms * CAIRN_MILLISECOND_NS;
}

static void accept_guest(struct loop *loop)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	int descriptor = accept4(loop->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (descriptor < 0) {
		pause_accepting(loop);
		return;
	}
	struct guest *room = NULL;
	for (int i = 0; i < guests_most && !room; i++)
		if (loop->guests[i].descriptor < 0)
			room = &loop->guests[i];
	/* Anybody on this machine may connect; only processes of the tree are accepted. */
	if (!room || getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || !cairn_tree_has(getpid(), peer.pid)) {
		close(descriptor);
		return;
	}
	bool wanted = is_wanted(loop, peer.pid);
	char answer = wanted ? CAIRN_HANDOVER_WANTED : CAIRN_HANDOVER_NOT_WANTED;
	if (send(descriptor, &answer, 1, MSG_NOSIGNAL) != 1 || !wanted) {
		close(descriptor);
		return;
	}
	*room = (struct guest){descriptor, peer.pid, cairn_clock_ns()};
	if (peer.pid == loop->run->pid)
		look_at_members(loop, cairn_clock_ns(), true); /* how much it has as it ends */
}

/* Takes what GUEST has sent, and lets it go. */
static void receive(struct loop *loop, struct guest *guest)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	ssize_t length = recvmsg(guest->descriptor, &message, MSG_CMSG_CLOEXEC);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	struct cmsghdr *rights = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int))) {
		int descriptor;
		memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
		cairn_moment_add(&loop->run->end, &loop->members, guest->pid, descriptor, byte == CAIRN_HANDOVER_LEDGER);
		close(descriptor);
	}
	loop->granted_ns += cairn_clock_ns() - guest->granted_ns;
	close(guest->descriptor);
	guest->descriptor = -1;
}

static void start_command(const struct cairn_supervision *run, const sigset_t *before, bool own_group)
{
	if (own_group)
		setpgid(0, 0);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (run->beside)
		cairn_begin_in_child();
	execvp(run->command[0], run->command);
	int code = errno;
	struct cairn_error error;
	cairn_fail_errno(&error, "%s", run->command[0]);
	run->complain(error.text);
	_exit(code == ENOENT ? CAIRN_EXIT_NOT_FOUND : CAIRN_EXIT_NOT_STARTED);
}

/* The terminal in whose foreground we run, or -1. */
static int open_terminal(void)
{
	int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (terminal >= 0 && tcgetpgrp(terminal) != getpgrp()) {
		close(terminal);
		terminal = -1;
	}
	return terminal;
}

static void give_terminal(struct loop *loop, bool to_command)
{
	sigset_t stop, before;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stop, &before); /* who is in the background may take it then */
	tcsetpgrp(loop->terminal, to_command ? loop->run->pid : getpgrp());
	sigprocmask(SIG_SETMASK, &before, NULL);
	loop->handed = to_command;
}

/* The command was stopped, because it reads from the terminal or because the user stopped it and wants the shell back. */
static void see_stop(struct loop *loop, int number)
{
	if (loop->terminal < 0)
		return;
	if ((number == SIGTTIN || number == SIGTTOU) && !loop->handed) {
		give_terminal(loop, true);
		kill(-loop->run->pid, SIGCONT);
		return;
	}
	bool handed = loop->handed;
	if (handed)
		give_terminal(loop, false);
	raise(SIGSTOP);
	if (handed)
		give_terminal(loop, true);
	kill(-loop->run->pid, SIGCONT);
}

/* Whether process PID, which may have ended, has waited for others: the kernel has added their page faults up (cminflt). */
static bool has_waited(pid_t pid)
{
	struct cairn_proc_stat stat;
	return cairn_proc_stat_read(pid, &stat) && stat.child_faults > 0;
}

static void reap(struct loop *loop)
{
	struct rusage usage;
	int status;
	siginfo_t end = {0};
	if (!loop->ended)
		loop->run->had_children = has_waited(loop->run->pid);
	if (!loop->ended && !loop->is_stopping && waitid(P_PID, (id_t)loop->run->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid)
		cairn_members_end(&loop->members, loop->run->pid);
	/* Orphaned descendants are reaped here too. */
	for (pid_t pid; (pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0;) {
		if (pid != loop->run->pid) {
			cairn_run_inside_reap(&loop->inside, pid, status);
			continue;
		}
		if (WIFSTOPPED(status)) {
			see_stop(loop, WSTOPSIG(status));
			continue;
		}
		loop->ended = true;
		loop->run->status = status;
		loop->run->usage = usage;
	}
}

static void pass_on(struct loop *loop, int number)
{
	bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
	if (ends && !loop->is_stopping && loop->run->takes_profiles) {
		look_at_members(loop, cairn_clock_ns(), true);
		loop->is_stopping = cairn_moment_take(&loop->run->end, &loop->members, signal_patience_ms);
	}
	bool to_group = loop->terminal >= 0 && (number == SIGINT || number == SIGQUIT || number == SIGHUP || number == SIGTSTP);
	kill(to_group ? -loop->run->pid : loop->run->pid, number);
	if (number == SIGTSTP)
		raise(SIGSTOP);
}

static void take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;
	if (read(loop->signals, &info, sizeof info) != sizeof info)
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(loop);
	else if (!loop->ended)
		pass_on(loop, (int)info.ssi_signo);
}

/* Reads the tree's memory and takes a profile at each new peak. */
static void look(struct loop *loop, int64_t now)
{
	struct cairn_supervision *run = loop->run;
	look_at_members(loop, now, false);
	int64_t took = cairn_clock_ns() - now, pause = look_ms * CAIRN_MILLISECOND_NS;
	loop->look_ns = now + took + (took * look_share > pause ? took * look_share : pause);
	uint64_t before = run->highest.memory;
	bool is_higher = loop->members.anonymous > before + before / 10 + least_growth;
	if (!run->takes_profiles || loop->is_stopping || !is_higher || now < loop->profile_ns)
		return;
	now = cairn_clock_ns();
	cairn_moment_take(&run->highest, &loop->members, highest_patience_ms);
	took = cairn_clock_ns() - now;
	pause = profile_ms * CAIRN_MILLISECOND_NS;
	loop->profile_ns = now + took + (took * profile_share > pause ? took * profile_share : pause);
}

/* Waits for an event, or until memory is to be read next. */
static void wait_for_events(struct loop *loop, int wait_ms)
{
	struct pollfd ready[guests_most + 3];
	struct guest *whose[guests_most];
	nfds_t count = 0;
	ready[count++] = (struct pollfd){.fd = loop->signals, .events = POLLIN};
	bool accepts = cairn_clock_ns() >= loop->accept_ns, sees = accepts && cairn_run_inside_is_ready(&loop->inside);
	ready[count++] = (struct pollfd){.fd = accepts ? loop->listener : -1, .events = POLLIN};
	ready[count++] = (struct pollfd){.fd = sees ? loop->inside.listener : -1, .events = POLLIN};
	for (int i = 0; i < guests_most; i++)
		if (loop->guests[i].descriptor >= 0) {
			whose[count - 3] = &loop->guests[i];
			ready[count++] = (struct pollfd){.fd = loop->guests[i].descriptor, .events = POLLIN};
		}
	if (poll(ready, count, wait_ms) <= 0)
		return;
	for (nfds_t i = 3; i < count; i++)
		if (ready[i].revents)
			receive(loop, whose[i - 3]);
	if (ready[2].revents && !cairn_run_inside_accept(&loop->inside))
		pause_accepting(loop);
	if (ready[1].revents)
		accept_guest(loop);
	if (ready[0].revents)
		take_signal(loop);
}

/* Has the command profiled from its very beginning. */
static void begin(struct loop *loop)
{
	struct cairn_supervision *run = loop->run;
	struct cairn_error error;
	if (cairn_begin(run->pid, run->beside, &run->status, &error)) {
		loop->members.served = run->pid;
		look_at_members(loop, cairn_clock_ns(), true); /* which keeps its ledger */
		return;
	}
	loop->ended = run->status >= 0;
	run->takes_profiles = false;
	if (!loop->ended)
		cairn_note("%s runs without profiling: %s", run->command[0], error.text);
}

static void run_loop(struct loop *loop)
{
	while (!loop->ended) {
		int64_t now = cairn_clock_ns();
		if (now >= loop->look_ns)
			look(loop, now);
		int64_t wait = loop->look_ns - cairn_clock_ns();
		if (loop->accept_ns > now && loop->accept_ns - now < wait)
			wait = loop->accept_ns - now;
		wait_for_events(loop, wait <= 0 ? 0 : (int)(wait / CAIRN_MILLISECOND_NS) + 1);
	}
	for (int i = 0; i < guests_most; i++) /* what the last of them sent before they ended */
		if (loop->guests[i].descriptor >= 0)
			receive(loop, &loop->guests[i]);
}

/* The facts about the tree when the command has ended. Other processes may continue: a daemon, or workers. */
static void finish(struct loop *loop)
{
	struct cairn_supervision *run = loop->run;
	int64_t now = cairn_clock_ns();
	if (!loop->is_stopping) {
		cairn_moment_forget(&run->end, now - end_window_seconds * second);
		run->end.memory = 0;
		for (size_t i = 0; i < run->end.count; i++)
			run->end.memory += run->end.shots[i].memory;
		run->end.processes = run->end.count;
	}
	for (size_t i = 0; i < loop->members.count; i++)
		run->left += loop->members.items[i].life.pid != run->pid && cairn_life_goes_on(&loop->members.items[i].life);
	if (run->left > 0 && run->takes_profiles && run->end.count == 0)
		cairn_moment_take(&run->end, &loop->members, signal_patience_ms);
	if (loop->handed)
		give_terminal(loop, false);
	if (loop->terminal >= 0)
		close(loop->terminal);
	if (loop->listener >= 0)
		close(loop->listener);
	cairn_run_inside_close(&loop->inside);
	close(loop->signals);
	cairn_members_free(&loop->members);
}

bool cairn_supervise(struct cairn_supervision *run, struct cairn_error *error)
{
	struct loop loop = {.run = run, .began_ns = cairn_clock_ns()};
	sigset_t signals, before;
	loop.members.helps = run->takes_profiles;
	loop.members.ends = run->takes_profiles ? &run->end : NULL;
	for (int i = 0; i < guests_most; i++)
		loop.guests[i].descriptor = -1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		sigaddset(&signals, passed[i]);
	sigprocmask(SIG_BLOCK, &signals, &before); /* no signal is lost between the start and knowing where to send it */
	loop.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	loop.listener = open_listener();
	cairn_run_inside_open(&loop.inside, loop.listener >= 0 ? getenv("CAIRN_REPORT") : "");
	loop.terminal = open_terminal();
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that daemons stay in the tree */
	run->pid = loop.signals >= 0 ? fork() : -1;
	if (run->pid == 0)
		start_command(loop.run, &before, loop.terminal >= 0);
	if (run->pid < 0)
		return cairn_fail_errno(error, "cannot start a process");
	cairn_memory_raise_file_limit(); /* the command, which is started by now, keeps its own limit */
	signal(SIGPIPE, SIG_IGN); /* the summary may have no reader any more */
	if (loop.terminal >= 0)
		setpgid(run->pid, run->pid);
	if (run->beside)
		begin(&loop);
	loop.look_ns = loop.began_ns + look_ms * CAIRN_MILLISECOND_NS; /* before that it has hardly begun */
	run_loop(&loop);
	run->seconds = (double)(cairn_clock_ns() - loop.began_ns) / 1e9;
	finish(&loop);
	return true;
}

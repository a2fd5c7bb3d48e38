/* A copy tool that can do wrong in every way a tool can. Its arguments are done one after the
 * other:
 *   copy FROM TO      copies what is in FROM into TO, with cp
 *   link FROM TO      the same, but makes hard links
 *   move PATTERN TO   moves what matches into TO
 *   replace FROM TO   makes a symbolic link to FROM of the empty folder TO
 *   sleep S           sleeps
 *   burn S            burns so much CPU itself
 *   burn-child S      a child burns it, and is waited for
 *   burn-orphan S     a grandchild burns it, and is not waited for, but outlived
 *   linger S          leaves a process in a session of its own behind, which sleeps
 *   hold S            the same, but that process keeps our standard output and error open
 *   hang              waits for ever, deaf to all signals that can be refused
 *   mark FILE         writes our process id, our parent's and that of what lingers into FILE
 *   once FILE WORD A  does WORD A only if FILE was not there, and makes it
 *   remove PATTERN    removes the files that match
 *   litter PATTERN    makes a file in the folders that match
 *   flip PATTERN      changes one byte of the files that match
 *   shut PATTERN      nobody may read the files that match
 *   close FOLDER      nobody may write into it
 *   fill FOLDER       writes into it until the disk is full
 *   end-agent SIGNAL  sends it to the agent, our parent's parent
 *   say TEXT          says that on standard error
 *   exit N            ends
 *   listen PORT       waits for one connection and its end */
#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t lingering;

static void fail(const char *what)
{
	perror(what);
	exit(9);
}

static void rest(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
	while (nanosleep(&left, &left) < 0)
		;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	double until = cpu_s() + seconds;
	while (cpu_s() < until)
		for (volatile int spin = 0; spin < 1000; spin++)
			;
}

static void wait_for(pid_t pid)
{
	int status = 0;
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		exit(9); /* it has said why */
}

static void copy(const char *from, const char *to, const char *how)
{
	char inside[4096];
	snprintf(inside, sizeof(inside), "%s/.", from);
	pid_t pid = fork();
	if (pid == 0) {
		execlp("cp", "cp", how, "--preserve=mode", inside, to, (char *)NULL);
		_exit(127);
	}
	wait_for(pid);
}

static void burn_child(double seconds)
{
	pid_t pid = fork();
	if (pid == 0) {
		burn(seconds);
		_exit(0);
	}
	wait_for(pid);
}

/* The pipe tells when the grandchild has burned; who reaps it is not our business. */
static void burn_orphan(double seconds)
{
	int ends[2];
	char word;
	if (pipe(ends) < 0)
		fail("pipe");
	pid_t pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			burn(seconds);
			_exit(0);
		}
		_exit(0);
	}
	wait_for(pid);
	close(ends[1]);
	if (read(ends[0], &word, 1) != 0)
		fail("read");
	close(ends[0]);
}

static void linger(double seconds, int keep_open)
{
	lingering = fork();
	if (lingering != 0)
		return;
	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3 && !keep_open; fd++)
		close(fd);
	rest(seconds);
	_exit(0);
}

static void hang(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
}

/* Whole at once: whoever waits for it may read it as soon as it is there. */
static void mark(const char *path)
{
	char fresh[4096];
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	FILE *file = fopen(fresh, "w");
	if (!file)
		fail(fresh);
	fprintf(file, "%d %d %d\n", (int)getpid(), (int)getppid(), (int)lingering);
	if (fclose(file) != 0 || rename(fresh, path) < 0)
		fail(path);
}

static void for_matches(const char *pattern, void (*act)(const char *path))
{
	glob_t found;
	if (glob(pattern, 0, NULL, &found) != 0)
		fail(pattern);
	for (size_t i = 0; i < found.gl_pathc; i++)
		act(found.gl_pathv[i]);
	globfree(&found);
}

static const char *move_to;

static void move_one(const char *path)
{
	pid_t pid = fork();
	if (pid == 0) {
		execlp("mv", "mv", path, move_to, (char *)NULL);
		_exit(127);
	}
	wait_for(pid);
}

static void replace(const char *from, const char *to)
{
	if (rmdir(to) < 0 || symlink(from, to) < 0)
		fail(to);
}

static void shut(const char *path)
{
	if (chmod(path, 0) < 0)
		fail(path);
}

static void remove_file(const char *path)
{
	if (unlink(path) < 0)
		fail(path);
}

static void litter(const char *path)
{
	char name[4096];
	snprintf(name, sizeof(name), "%s/litter", path);
	int fd = open(name, O_WRONLY | O_CREAT, 0644);
	if (fd < 0)
		fail(name);
	close(fd);
}

static void flip(const char *path)
{
	char byte;
	int fd = open(path, O_RDWR);
	if (fd < 0 || pread(fd, &byte, 1, 0) != 1)
		fail(path);
	byte = (char)(byte ^ 1);
	if (pwrite(fd, &byte, 1, 0) != 1)
		fail(path);
	close(fd);
}

static void fill(const char *path)
{
	static const char zeros[65536];
	char name[4096];
	snprintf(name, sizeof(name), "%s/fill", path);
	int fd = open(name, O_WRONLY | O_CREAT, 0644);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	fail(name);
}

static void end_agent(const char *number)
{
	char path[64], word[64];
	long parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	FILE *file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%63[^)]) %*c %ld", word, &parent) != 2 || parent <= 1)
		fail(path);
	fclose(file);
	if (kill((pid_t)parent, atoi(number)) < 0)
		fail("kill");
}

static void listen_once(const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)atoi(port)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
		fail("listen");
	pause();
}

/* Whether the word and what belongs to it is to be done: makes the file. */
static int is_first(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Words with two arguments. */
static int act_on_two(char **words)
{
	if (strcmp(words[0], "copy") == 0)
		copy(words[1], words[2], "-rP");
	else if (strcmp(words[0], "link") == 0)
		copy(words[1], words[2], "-rPl");
	else if (strcmp(words[0], "replace") == 0)
		replace(words[1], words[2]);
	else if (strcmp(words[0], "move") == 0) {
		move_to = words[2];
		for_matches(words[1], move_one);
	} else {
		return 0;
	}
	return 3;
}

/* Returns how many arguments the word used, itself included. */
static int act(char **words)
{
	const char *word = words[0];
	const char *argument = words[1] ? words[1] : "";
	int used = words[1] && words[2] ? act_on_two(words) : 0;
	if (used)
		return used;
	if (strcmp(word, "hang") == 0)
		hang();
	else if (strcmp(word, "sleep") == 0)
		rest(atof(argument));
	else if (strcmp(word, "burn") == 0)
		burn(atof(argument));
	else if (strcmp(word, "burn-child") == 0)
		burn_child(atof(argument));
	else if (strcmp(word, "burn-orphan") == 0)
		burn_orphan(atof(argument));
	else if (strcmp(word, "linger") == 0 || strcmp(word, "hold") == 0)
		linger(atof(argument), strcmp(word, "hold") == 0);
	else if (strcmp(word, "mark") == 0)
		mark(argument);
	else if (strcmp(word, "remove") == 0)
		for_matches(argument, remove_file);
	else if (strcmp(word, "litter") == 0)
		for_matches(argument, litter);
	else if (strcmp(word, "flip") == 0)
		for_matches(argument, flip);
	else if (strcmp(word, "shut") == 0)
		for_matches(argument, shut);
	else if (strcmp(word, "close") == 0 && chmod(argument, 0500) < 0)
		fail(argument);
	else if (strcmp(word, "close") == 0)
		return 2;
	else if (strcmp(word, "fill") == 0)
		fill(argument);
	else if (strcmp(word, "end-agent") == 0)
		end_agent(argument);
	else if (strcmp(word, "say") == 0)
		fprintf(stderr, "%s\n", argument);
	else if (strcmp(word, "exit") == 0)
		exit(atoi(argument));
	else if (strcmp(word, "listen") == 0)
		listen_once(argument);
	else
		fail(word);
	return 2;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		if (strcmp(argv[i], "once") == 0 && i + 3 < argc)
			i += is_first(argv[i + 1]) ? 2 : 4;
		else
			i += act(argv + i);
	}
	return 0;
}

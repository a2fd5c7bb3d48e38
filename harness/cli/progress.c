#include "harness/cli/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "results/summary.h"

struct progress {
	bool terminal;
	size_t cases; /* 0: nothing is counted */
	uint64_t rounds;
	size_t rows, whole; /* rows of single runs; those that stand for all rounds of a case */
	char doing[256];
	int64_t start_ns, runs_start_ns; /* the latter: when the first run began; 0 before */
	bool ending;
	pthread_t ticker;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

static void duration_text(double seconds, char *to, size_t size)
{
	unsigned long whole = (unsigned long)(seconds + 0.5);
	if (whole >= 3600)
		snprintf(to, size, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
	else
		snprintf(to, size, "%lu:%02lu", whole / 60, whole % 60);
}

static double seconds_since(int64_t start_ns)
{
	return (double)(clock_now_ns() - start_ns) / (double)NS_PER_S;
}

static size_t total_of(const struct progress *progress)
{
	return progress->cases * (size_t)progress->rounds;
}

static size_t done_of(const struct progress *progress)
{
	return progress->rows + progress->whole * (size_t)progress->rounds;
}

/* Redraws the status line; the lock is held. */
static void draw(const struct progress *progress)
{
	char elapsed[32], left[64] = "";
	duration_text(seconds_since(progress->start_ns), elapsed, sizeof(elapsed));
	size_t total = total_of(progress);
	size_t done = done_of(progress);
	if (progress->rows > 0 && done < total) {
		double each = seconds_since(progress->runs_start_ns) / (double)progress->rows;
		char text[32];
		duration_text(each * (double)(total - done), text, sizeof(text));
		snprintf(left, sizeof(left), ", about %s left", text);
	}
	fputs("\r\033[K", stderr);
	if (total > 0)
		fprintf(stderr, "[%zu/%zu] ", done, total);
	fprintf(stderr, "%s  %s%s", progress->doing, elapsed, left);
	fflush(stderr);
}

static void *tick(void *argument)
{
	struct progress *progress = argument;
	pthread_mutex_lock(&progress->lock);
	while (!progress->ending) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&progress->wake, &progress->lock, &until);
		if (!progress->ending)
			draw(progress);
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

static struct progress *start(size_t cases, uint64_t rounds)
{
	struct progress *progress = calloc(1, sizeof(*progress));
	if (!progress)
		abort();
	progress->terminal = isatty(STDERR_FILENO);
	progress->cases = cases;
	progress->rounds = rounds;
	progress->start_ns = clock_now_ns();
	pthread_mutex_init(&progress->lock, NULL);
	pthread_cond_init(&progress->wake, NULL);
	if (progress->terminal && pthread_create(&progress->ticker, NULL, tick, progress) != 0)
		progress->terminal = false;
	return progress;
}

struct progress *progress_start(const struct study *study)
{
	return start(study->cases_count, study->settings.rounds);
}

struct progress *progress_start_waiting(void)
{
	return start(0, 0);
}

static void set_doing(struct progress *progress, const char *what)
{
	pthread_mutex_lock(&progress->lock);
	text_escape_terminal(progress->doing, sizeof(progress->doing), what);
	if (progress->terminal)
		draw(progress);
	pthread_mutex_unlock(&progress->lock);
}

void progress_say(struct progress *progress, const char *what)
{
	pthread_mutex_lock(&progress->lock);
	progress->start_ns = clock_now_ns();
	pthread_mutex_unlock(&progress->lock);
	set_doing(progress, what);
}

static void on_phase(const char *what, void *context)
{
	struct progress *progress = context;
	set_doing(progress, what);
	if (!progress->terminal)
		fprintf(stderr, "%s\n", what);
}

static void on_run_started(const struct study_case *item, int round, size_t position, size_t count,
			   void *context)
{
	struct progress *progress = context;
	char what[256];
	(void)position;
	(void)count;
	if (progress->runs_start_ns == 0)
		progress->runs_start_ns = clock_now_ns();
	snprintf(what, sizeof(what), "%.180s, round %d of %llu", item->label, round,
		 (unsigned long long)progress->rounds);
	set_doing(progress, what);
}

static void on_run_ended(const struct result *row, void *context)
{
	struct progress *progress = context;
	char label[512], error[2048], rate[SUMMARY_NUMBER_SIZE];
	bool once = row->status == STATUS_UNSUPPORTED || row->status == STATUS_UNAVAILABLE;
	pthread_mutex_lock(&progress->lock);
	/* A row for a whole case stands for all its rounds. */
	if (once)
		progress->whole++;
	else
		progress->rows++;
	text_escape_terminal(label, sizeof(label), row->label);
	text_escape_terminal(error, sizeof(error), row->error);
	if (progress->terminal)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "%3zu/%zu  round %lld  %-28s ", done_of(progress), total_of(progress),
		(long long)row->round, label);
	if (row->status == STATUS_OK)
		fprintf(stderr, "%8s Mbit/s  %.2f s\n", summary_mbit_text(row->goodput_bps, rate),
			row->total_s);
	else
		fprintf(stderr, "%s: %s\n", result_status_names[row->status], error);
	if (progress->terminal)
		draw(progress);
	pthread_mutex_unlock(&progress->lock);
}

static void on_note(const char *text, void *context)
{
	struct progress *progress = context;
	char shown[2048];
	pthread_mutex_lock(&progress->lock);
	text_escape_terminal(shown, sizeof(shown), text);
	fprintf(stderr, "%snote: %s\n", progress->terminal ? "\r\033[K" : "", shown);
	if (progress->terminal)
		draw(progress);
	pthread_mutex_unlock(&progress->lock);
}

static void on_more_rounds(uint64_t rounds, double first_round_s, void *context)
{
	struct progress *progress = context;
	pthread_mutex_lock(&progress->lock);
	fprintf(stderr, "%sthe first round took %.1f s: %llu rounds instead of %llu\n",
		progress->terminal ? "\r\033[K" : "", first_round_s, (unsigned long long)rounds,
		(unsigned long long)progress->rounds);
	progress->rounds = rounds;
	if (progress->terminal)
		draw(progress);
	pthread_mutex_unlock(&progress->lock);
}

struct conduct_watch progress_watch(struct progress *progress)
{
	return (struct conduct_watch){ .phase = on_phase,
				       .run_started = on_run_started,
				       .run_ended = on_run_ended,
				       .note = on_note,
				       .more_rounds = on_more_rounds,
				       .context = progress };
}

void progress_end(struct progress *progress)
{
	pthread_mutex_lock(&progress->lock);
	progress->ending = true;
	pthread_cond_signal(&progress->wake);
	pthread_mutex_unlock(&progress->lock);
	if (progress->terminal) {
		pthread_join(progress->ticker, NULL);
		fputs("\r\033[K", stderr);
	}
	pthread_cond_destroy(&progress->wake);
	pthread_mutex_destroy(&progress->lock);
	free(progress);
}

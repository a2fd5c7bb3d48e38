#include "harness/base/cancel.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct cancel *signal_cancel;

int cancel_open(struct cancel *cancel, struct error *err)
{
	atomic_store(&cancel->requested, false);
	atomic_store(&cancel->signal, 0);
	cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cancel->fd < 0)
		return error_system(err, "eventfd");
	return 0;
}

void cancel_close(struct cancel *cancel)
{
	if (cancel->fd >= 0)
		close(cancel->fd);
	cancel->fd = -1;
}

void cancel_request(struct cancel *cancel)
{
	int saved = errno;
	atomic_store(&cancel->requested, true);
	uint64_t one = 1;
	if (cancel->fd >= 0 && write(cancel->fd, &one, sizeof(one)) < 0)
		errno = 0; /* full: already readable */
	errno = saved;
}

static void on_signal(int signal)
{
	int none = 0;
	if (!signal_cancel)
		return;
	atomic_compare_exchange_strong(&signal_cancel->signal, &none, signal);
	cancel_request(signal_cancel);
}

int cancel_on_signals(struct cancel *cancel, struct error *err)
{
	signal_cancel = cancel;
	struct sigaction action = { .sa_handler = on_signal };
	sigemptyset(&action.sa_mask);
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction hangup;
	if (sigaction(SIGINT, &action, NULL) < 0 || sigaction(SIGTERM, &action, NULL) < 0 ||
	    sigaction(SIGPIPE, &ignore, NULL) < 0 || sigaction(SIGHUP, NULL, &hangup) < 0)
		return error_system(err, "sigaction");
	/* Who started us with nohup wants us to outlive the terminal. */
	if (hangup.sa_handler != SIG_IGN && sigaction(SIGHUP, &action, NULL) < 0)
		return error_system(err, "sigaction");
	return 0;
}

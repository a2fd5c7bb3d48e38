/* A copy on the sink's host by one process, with plain reads and writes: no line, no other end.
 * What a fresh file costs at all on this machine is what it costs here, so it is the line that
 * copies of files are held against, and no rival: it is never ranked. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/api/transport.h"
#include "transports/wire/local_copy.h"

struct local_options {
	uint64_t block;
};

static const struct option_def local_option_defs[] = {
	{ .name = "block",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct local_options, block),
	  .fallback = "256KiB",
	  .unit = "bytes",
	  .min = 4096,
	  .max = 64 << 20,
	  .help = "bytes a read or write moves at most" },
	{ .name = NULL },
};

static int local_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	text_copy(probe->version, sizeof(probe->version), "built-in");
	return 0;
}

/* Only the sink has something to do: it must see the source's files. */
static int local_prepare(struct xfer *xfer, struct error *err)
{
	const struct local_options *options = xfer->options;
	xfer->private = NULL;
	if (xfer->side == XFER_SOURCE)
		return 0;
	if (access(xfer->source_root, R_OK | X_OK) < 0)
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "local copies on one machine: the source's folder %s is not to be "
				 "seen at the sink",
				 xfer->source_root);
	struct local_copy *copy = malloc(sizeof(*copy));
	if (!copy)
		abort();
	local_copy_init(copy, options->block);
	xfer->private = copy;
	return 0;
}

/* The sink does it all. */
static int local_send(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	return 0;
}

static int local_receive(struct xfer *xfer, struct error *err)
{
	return local_copy_run(xfer->private, xfer, err);
}

static void local_cleanup(struct xfer *xfer)
{
	if (!xfer->private)
		return;
	local_copy_free(xfer->private);
	free(xfer->private);
	xfer->private = NULL;
}

const struct transport transport_local = {
	.name = "local",
	.summary = "a copy on one machine by one process, without a line: a ceiling for files",
	.driver = XFER_SINK,
	.caps = CAP_CEILING | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_HOLES | CAP_ANY_NAME |
		CAP_EMPTY_TREE,
	.options = local_option_defs,
	.options_size = sizeof(struct local_options),
	.probe = local_probe,
	.prepare = local_prepare,
	.send = local_send,
	.receive = local_receive,
	.cleanup = local_cleanup,
};

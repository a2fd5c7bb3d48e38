#include "harness/api/xfer.h"

#include "harness/base/clock.h"

void xfer_progress_mark(struct xfer_progress *progress)
{
	int64_t never = 0;
	if (atomic_load_explicit(&progress->first_byte_ns, memory_order_relaxed) == 0)
		atomic_compare_exchange_strong(&progress->first_byte_ns, &never, clock_now_ns());
}

void xfer_progress_add(struct xfer_progress *progress, uint64_t bytes)
{
	if (bytes > 0)
		xfer_progress_mark(progress);
	atomic_fetch_add_explicit(&progress->bytes, bytes, memory_order_relaxed);
}

void xfer_progress_add_unsent(struct xfer_progress *progress, uint64_t bytes)
{
	atomic_fetch_add_explicit(&progress->unsent_bytes, bytes, memory_order_relaxed);
	xfer_progress_add(progress, bytes);
}

struct io_limit xfer_limit(const struct xfer *xfer)
{
	return (struct io_limit){ .deadline_ns = xfer->deadline_ns, .cancel = xfer->cancel };
}

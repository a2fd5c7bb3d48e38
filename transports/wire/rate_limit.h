/* One rate for several connections together: a token bucket that all of them draw from. Any thread.
 */
#ifndef LINEFILL_TRANSPORTS_WIRE_RATE_LIMIT_H
#define LINEFILL_TRANSPORTS_WIRE_RATE_LIMIT_H

#include "transports/wire/channel.h"

struct rate_limit;

/* bits_per_s: decimal bits a second, > 0, of everything written. At most 10 ms' worth, or 64 KiB
 * if that is more, leave at once. */
struct rate_limit *rate_limit_new(double bits_per_s);
/* Safe on NULL. */
void rate_limit_free(struct rate_limit *limit);
/* The channel's writes wait for their share from now on. limit must outlive it, and its context is
 * taken. */
void rate_limit_apply(struct rate_limit *limit, struct channel *channel);

#endif

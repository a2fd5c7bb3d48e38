/* multi with the roles of the connection swapped, for a sink that nobody can connect to: it
 * connects to the source, and then the same streams carry the same records. */
#include "transports/multi/multi.h"

const struct transport transport_multi_reverse = {
	.name = "multi-reverse",
	.summary = "multi, but the sink connects to the source: past a sink's firewall",
	.driver = XFER_SINK,
	MULTI_OPS,
};

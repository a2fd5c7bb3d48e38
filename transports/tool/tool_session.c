#include "transports/tool/tool_session.h"

const struct tool *tool_session_tool(const struct transport *transport)
{
	return (const struct tool *)transport;
}

struct tool_view tool_session_view(const struct xfer *xfer)
{
	const struct tool_session *session = xfer->private;
	struct tool_view view = { .file = tool_session_tool(xfer->transport)->file,
				  .xfer = xfer,
				  .host = xfer->peer_host,
				  .scratch = session && session->folder ? session->folder
									: xfer->scratch };
	if (xfer->service) {
		view.host = xfer->service->host;
		view.port = xfer->service->port;
	} else if (session && session->peer.port) {
		view.host = session->peer.host;
		view.port = session->peer.port;
	}
	return view;
}

/* One end of every copy: answers the controller's requests on two descriptors, one at a time. The
 * controller never moves data. While a request is worked on, anything that the controller says
 * means "stop", and so does the end of the stream; the agent then undoes everything and ends. */
#ifndef LINEFILL_AGENT_AGENT_H
#define LINEFILL_AGENT_AGENT_H

#include "harness/base/error.h"

/* Serves until "bye" or the end of input. id names this agent's workspace. */
int agent_serve(int input, int output, const char *id, struct error *err) MUST_CHECK;

#endif

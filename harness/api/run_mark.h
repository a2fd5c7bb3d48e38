/* What every process of a run carries in its environment, so that those that outlive their agent
 * can be found and ended. The value is the agent's id. */
#ifndef LINEFILL_API_RUN_MARK_H
#define LINEFILL_API_RUN_MARK_H

#define RUN_MARK_ENV "LINEFILL_RUN"

#endif

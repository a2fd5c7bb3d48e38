/* One row of runs.csv. The field table is the only place that knows the columns: CSV header and
 * rows, JSON keys, `linefill list fields`, chart axes and documentation all come from it. */
#ifndef LINEFILL_API_RESULT_H
#define LINEFILL_API_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/base/text.h"

#define RESULT_SCHEMA 1

enum result_status {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_TIMEOUT,
	STATUS_INTEGRITY, /* the tool said it was fine, the copy is not */
	STATUS_INVALID,   /* a measurement that cannot be true */
	STATUS_CANCELLED,
	STATUS_UNSUPPORTED, /* this tool cannot carry this dataset or option */
	STATUS_UNAVAILABLE, /* not installed */
	STATUS_COUNT
};
extern const char *const result_status_names[]; /* ends with NULL */

enum result_verified { VERIFIED_NO, VERIFIED_COUNT, VERIFIED_YES };
extern const char *const result_verified_names[]; /* ends with NULL */
extern const char *const result_ceiling_names[];  /* no, yes; ends with NULL */

/* Unknown is never 0: numbers start as RESULT_UNKNOWN_*, which the CSV shows as an empty field. */
#define RESULT_UNKNOWN_COUNT INT64_C(-1)

/* What the processes of one end did, each count for all of them together. */
struct result_counts {
	int64_t io_calls;     /* system calls that moved data over the line */
	int64_t maxrss_bytes; /* the largest process */
	int64_t minor_faults, major_faults;
	int64_t csw_voluntary, csw_involuntary;
};

struct result {
	int64_t schema;
	char study_id[64], run_id[64];
	int64_t round;
	char case_name[96], label[128];
	int64_t pair, pairs, instances;
	/* What was asked: a study whose texts do not fit is refused, none is cut. */
	char factors[1024]; /* "name=level;name=level" */
	char transport[128], transport_version[128];
	char options[4096]; /* "key=value,key=value", only what differs from the default */
	char dataset[2048]; /* "recipe:key=value,..." */
	int64_t files, payload_bytes, streams;
	char cipher[64], mac[64];
	char preserve[16], durability[16], cache[16], memory[48];
	char start_utc[32];
	double setup_s, transfer_s, total_s; /* NAN is unknown */
	double goodput_bps;
	double cpu_source_s, cpu_source_user_s, cpu_source_system_s;
	double cpu_sink_s, cpu_sink_user_s, cpu_sink_system_s;
	double cpu_source_host_pct, cpu_sink_host_pct;
	double cpu_source_other_pct, cpu_sink_other_pct;
	double cpu_source_steal_pct, cpu_sink_steal_pct;
	char cpu_scope[48];
	double sd_source_us_per_kib, sd_sink_us_per_kib;
	int64_t csw_voluntary, csw_involuntary;
	int64_t ceiling;  /* 0 or 1 */
	int64_t verified; /* enum result_verified */
	int64_t status;   /* enum result_status */
	char error[512];
	struct result_counts source_counts, sink_counts;
	int64_t data_source_bytes, data_sink_bytes, line_bytes;
};

enum result_type {
	RESULT_TEXT,  /* char array at offset, size bytes */
	RESULT_COUNT, /* int64_t; RESULT_UNKNOWN_COUNT is empty */
	RESULT_REAL,  /* double; NAN is empty */
	RESULT_WORD,  /* int64_t index into words */
};

struct result_field {
	const char *name, *unit; /* unit "" for none */
	enum result_type type;
	size_t offset, size;
	const char *const *words;
	const char *help;
};
extern const struct result_field result_fields[];
extern const size_t result_fields_count;

/* Everything unknown, schema set, status FAILED, verified NO. */
void result_init(struct result *result);
/* The field as the CSV shows it, without its quotes: "" when unknown. Control characters and bytes
 * that are not UTF-8 become \xNN. */
void result_field_text(const struct result_field *field, const struct result *result,
		       struct text *out);
/* The other way; "" is unknown, except for a WORD, which must be one of its words. Errors: CONFIG.
 */
int result_field_parse(const struct result_field *field, struct result *result, const char *value,
		       struct error *err) MUST_CHECK;
/* The field of that name, or NULL. */
const struct result_field *result_field_find(const char *name);

#endif

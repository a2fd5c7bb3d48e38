/* Studies read from text, for tests. For cmocka. */
#ifndef LINEFILL_TESTS_UNIT_STUDY_STUDY_TEXT_H
#define LINEFILL_TESTS_UNIT_STUDY_STUDY_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/study/study.h"
#include "tests/unit/tree_folder.h"
#include "transports/catalog.h"

/* The user's own tool files have no say here. */
static inline int load_catalog(void **state)
{
	(void)state;
	if (setenv("XDG_CONFIG_HOME", "/nonexistent", 1) < 0)
		return -1;
	catalog_add_folder(TOOLS_FOLDER);
	return catalog_problem(0) ? -1 : 0;
}

static inline int parse(struct study *study, const char *text, struct error *err)
{
	return study_parse(study, "s.ini", text, strlen(text), err);
}

/* The request's file is s.ini with that text; NULL for none. */
static inline int load(struct study *study, const char *text, struct study_request request,
		       struct error *err)
{
	if (text) {
		assert_true(tree_put("s.ini", text));
		request.file = "s.ini";
	}
	return study_load(study, &request, err);
}

static inline void load_well(struct study *study, const char *text, struct study_request request)
{
	struct error err = { 0 };
	if (load(study, text, request, &err) < 0)
		fail_msg("%s", err.message);
}

/* "name[options]factors x2" of every case, with "; " between. */
static inline void describe(const struct study *study, struct text *out)
{
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		text_addf(out, "%s%s[%s]%s", i ? "; " : "", item->name, item->options_text,
			  item->factors);
		if (item->instances != 1)
			text_addf(out, " x%llu", (unsigned long long)item->instances);
	}
}

static inline void assert_cases(const struct study *study, const char *wanted)
{
	AUTO_TEXT text = { 0 };
	describe(study, &text);
	assert_string_equal(text_string(&text), wanted);
}

#define TRANSPORTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define TCP_FILE "[case tcp]\ntransport = tcp\n"

#endif

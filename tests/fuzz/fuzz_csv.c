/* A file of rows may have been made by anyone: reading, summarising and showing it must hold. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "results/chart_script.h"
#include "results/csv.h"
#include "results/html.h"
#include "results/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* What was read is written and read again: as many rows come back. */
static void read_back(const struct results *results)
{
	AUTO_TEXT out = { 0 };
	for (size_t i = 0; i < result_fields_count; i++)
		csv_add_field(&out, result_fields[i].name);
	csv_end_record(&out);
	for (size_t row = 0; row < results->count; row++) {
		for (size_t i = 0; i < result_fields_count; i++) {
			AUTO_TEXT value = { 0 };
			result_field_text(&result_fields[i], &results->rows[row], &value);
			csv_add_field(&out, text_string(&value));
		}
		csv_end_record(&out);
	}
	AUTO_RESULTS again = { 0 };
	if (csv_parse_results("again", out.data, out.length, &again, NULL) < 0 ||
	    again.count != results->count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT out = { 0 };
	struct error err = { 0 };
	if (csv_parse_results("fuzz", (const char *)bytes, count, &results, &err) == 0)
		read_back(&results);
	html_add(&out, err.message);
	summary_make(&results, &summary);
	summary_table(&summary, &out);
	struct chart_layout layout = chart_layout(&summary);
	struct chart chart = { .title = err.message };
	chart_data(&summary, &layout, &out);
	chart_script(&summary, &chart, &layout, &out);
	return 0;
}

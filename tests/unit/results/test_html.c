#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "results/html.h"

static void test_html_escapes(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "<a href='x'>\"&\"</a>",
		  "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;" },
		{ "\x01\n\x7f", "\\x01\\x0a\\x7f" },
		{ "\xff<\xc3\xa9", "\\xff&lt;\xc3\xa9" },
		{ "", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT out = { 0 };
		html_add(&out, cases[i].in);
		assert_string_equal(text_string(&out), cases[i].out);
	}
	AUTO_TEXT out = { 0 };
	html_elementf(&out, "td class=\"n\"", "%d < %d", 1, 2);
	assert_string_equal(text_string(&out), "<td class=\"n\">1 &lt; 2</td>");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_html_escapes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

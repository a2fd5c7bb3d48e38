#include <math.h>
#include <stdio.h>

#include "harness/base/cleanup.h"
#include "results/summary.h"

/* Of a number that is not 0 but next to it. */
#define DECIMALS_MOST 12

const char *summary_number_text(double number, int decimals, char text[SUMMARY_NUMBER_SIZE])
{
	if (isfinite(number))
		snprintf(text, SUMMARY_NUMBER_SIZE, "%.*f", decimals, number);
	else
		text_copy(text, SUMMARY_NUMBER_SIZE, "-");
	return text;
}

/* Three digits, never an exponent. */
static int decimals_of(double number)
{
	if (!(number > 0))
		return 0;
	int decimals = 0;
	for (double limit = 99.95; number < limit && decimals < DECIMALS_MOST; limit /= 10)
		decimals++;
	/* Below 1 two digits are enough. */
	return decimals > 2 ? decimals - 1 : decimals;
}

const char *summary_mbit_text(double bps, char text[SUMMARY_NUMBER_SIZE])
{
	double mbit = bps / 1e6;
	return summary_number_text(mbit, decimals_of(mbit), text);
}

const char *summary_rate_text(double bps, char text[SUMMARY_RATE_SIZE])
{
	static const struct {
		double least, unit;
		const char *name;
	} units[] = {
		{ 999.5e6, 1e9, "Gbit/s" },
		{ 999.5e3, 1e6, "Mbit/s" },
		{ 999.5, 1e3, "kbit/s" },
		{ 0, 1, "bit/s" },
	};
	size_t i = 0;
	while (i + 1 < ARRAY_SIZE(units) && !(bps >= units[i].least))
		i++;
	double number = bps / units[i].unit;
	snprintf(text, SUMMARY_RATE_SIZE, "%.*f %s", decimals_of(number), number, units[i].name);
	return text;
}

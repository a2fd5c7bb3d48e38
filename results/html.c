#include "results/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

void html_add(struct text *out, const char *string)
{
	AUTO_FREE char *shown = text_shown(string, SIZE_MAX);
	for (const char *s = shown; *s; s++) {
		switch (*s) {
		case '<':
			text_add(out, "&lt;");
			break;
		case '>':
			text_add(out, "&gt;");
			break;
		case '&':
			text_add(out, "&amp;");
			break;
		case '"':
			text_add(out, "&quot;");
			break;
		case '\'':
			text_add(out, "&#39;");
			break;
		default:
			text_add_bytes(out, s, 1);
		}
	}
}

static char *__attribute__((format(printf, 1, 0))) format_text(const char *format, va_list args)
{
	char *string = NULL;
	if (vasprintf(&string, format, args) < 0)
		abort();
	return string;
}

void html_addf(struct text *out, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	AUTO_FREE char *string = format_text(format, args);
	va_end(args);
	html_add(out, string);
}

void html_element(struct text *out, const char *tag, const char *string)
{
	text_addf(out, "<%s>", tag);
	html_add(out, string);
	text_addf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_elementf(struct text *out, const char *tag, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	AUTO_FREE char *string = format_text(format, args);
	va_end(args);
	html_element(out, tag, string);
}

void html_table_begin(struct text *out, const char *const *heads)
{
	text_add(out, "<div class=\"scroll\"><table>\n");
	if (!heads) {
		text_add(out, "<tbody>\n");
		return;
	}
	text_add(out, "<thead><tr>");
	for (size_t i = 0; heads[i]; i++) {
		bool number = heads[i][0] == '>';
		html_element(out, number ? "th class=\"n\"" : "th", heads[i] + (number ? 1 : 0));
	}
	text_add(out, "</tr></thead>\n<tbody>\n");
}

void html_table_end(struct text *out)
{
	text_add(out, "</tbody></table></div>\n");
}

static const char style[] =
	"*{box-sizing:border-box}\n"
	"body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"color:#1c2733;background:#fff;margin:0 auto;padding:1.5rem 1.25rem 3rem;max-width:66rem}\n"
	"h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem;color:#0b3350}\n"
	"h2{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-bottom:.25rem;color:#0b3350;"
	"border-bottom:1px solid #d5dee6}\n"
	"h3{font-size:1rem;margin:1.3rem 0 .3rem}\n"
	"p,dd{max-width:46rem}p{margin:.5rem 0}\n"
	".meta,.note{color:#52616e;font-size:.9rem}\n"
	".answer{font-size:1.12rem;background:#f0f6fb;border-left:4px solid #0072b2;"
	"padding:.8rem 1.1rem;margin:1rem 0;max-width:none}\n"
	".answer p{max-width:none}\n"
	".warn{background:#fdf3ec;border-left:4px solid #d55e00;padding:.6rem "
	"1rem;max-width:none}\n"
	".scroll{overflow-x:auto;margin:.6rem 0}\n"
	"table{border-collapse:collapse;font-size:.9rem;min-width:100%}\n"
	"th,td{text-align:left;padding:.34rem .65rem;border-bottom:1px solid #e3e9ee;"
	"vertical-align:top}\n"
	"th{font-weight:600;color:#41525f;border-bottom:2px solid #b9c7d3;vertical-align:bottom}\n"
	"tbody th{border-bottom:1px solid "
	"#e3e9ee;font-weight:500;vertical-align:top;min-width:7rem;"
	"color:#1c2733}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
	"th.n{white-space:normal}\n"
	".bad{color:#a33300;font-weight:600}\n"
	".error,td.v{overflow-wrap:anywhere}\n"
	"pre{background:#f4f6f8;border:1px solid #e1e7ec;border-radius:4px;padding:.6rem .8rem;"
	"font:.84rem/1.45 ui-monospace,'DejaVu Sans Mono',monospace;white-space:pre-wrap;"
	"overflow-wrap:anywhere;margin:.4rem 0}\n"
	"code{font:.88em ui-monospace,'DejaVu Sans Mono',monospace}\n"
	"figure{margin:1rem 0;overflow-x:auto}figure svg{display:block;width:100%;height:auto;"
	"min-width:42rem}\n"
	"figcaption{color:#52616e;font-size:.9rem;max-width:46rem}\n"
	"dt{font-weight:600;margin-top:.6rem}dd{margin:0 0 0 1.2rem}\n"
	"a{color:#005b94}\n"
	"@media(max-width:640px){body{padding:1rem .8rem 2rem}h1{font-size:1.35rem}"
	".answer{font-size:1rem;padding:.6rem .8rem}"
	"th,td{padding:.3rem .4rem}tbody th{min-width:6rem}}\n"
	"ul.warn{padding-left:2rem;margin:.8rem 0}ul.warn li{margin:.15rem 0}\n"
	"ul.keys{columns:20rem;list-style:none;padding:0;overflow-wrap:anywhere}\n"
	".terms{columns:26rem;column-gap:2rem}.terms dt{break-after:avoid}"
	".terms dd{break-inside:avoid}\n"
	"@media print{html{font-size:9.5pt}body{max-width:none;padding:0;font-size:1rem;"
	"line-height:1.35}h1{font-size:1.6rem}h2{margin:1.3rem 0 .3rem}h2+p{break-after:avoid}"
	"p{margin:.3rem 0}th,td{padding:.2rem .5rem}tbody th{min-width:7.5rem}"
	".answer{padding:.5rem .8rem;margin:.6rem 0}dt{margin-top:.3rem}.terms{columns:2}"
	"ul.keys{columns:3}.scroll,figure{overflow:visible}figure{margin:.4rem 0}"
	"figure svg{min-width:0;max-height:9cm;width:auto;margin:auto;max-width:100%}"
	"tr,figure,pre,ul.warn li{break-inside:avoid}tbody tr:nth-child(-n+2){break-after:avoid}"
	"h2,h3{break-after:avoid}a{color:inherit}}\n";

void html_page_begin(struct text *out, const char *title)
{
	text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
	html_element(out, "title", title);
	text_addf(out, "\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void html_page_end(struct text *out)
{
	text_add(out, "</body>\n</html>\n");
}

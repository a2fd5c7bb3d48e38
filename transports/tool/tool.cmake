# Transports made from tool files.
add_library(linefill_tools STATIC
	tool.c tool/tool_build.c tool/tool_check.c tool/tool_command.c tool/tool_count.c tool/tool_expand.c tool/tool_file.c
	tool/tool_options.c tool/tool_probe.c tool/tool_process.c tool/tool_raw.c tool/tool_run.c tool/tool_session.c
	tool/tool_template.c)
target_link_libraries(linefill_tools PUBLIC linefill_wire)

# Transports made from tool files. A library of its own: it needs no network library.
add_library(linefill_tools STATIC
	tool.c tool_check.c tool_command.c tool_count.c tool_expand.c tool_file.c tool_options.c tool_probe.c
	tool_process.c tool_raw.c tool_run.c tool_server.c tool_template.c)
target_link_libraries(linefill_tools PUBLIC linefill_api)
target_compile_definitions(linefill_tools PRIVATE LINEFILL_TOOLS_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/tools")

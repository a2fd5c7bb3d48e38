#include "harness/api/transport.h"

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/option_table.h"

static const struct {
	enum transport_cap cap;
	const char *name;
} caps[] = {
	{ CAP_TWO_ENDED, "two-ended" },
	{ CAP_TOOL, "tool" },
	{ CAP_MEMORY, "memory" },
	{ CAP_STREAMS, "streams" },
	{ CAP_SPLIT_FILE, "split-file" },
	{ CAP_SYMLINKS, "symlinks" },
	{ CAP_EMPTY_FOLDERS, "empty-folders" },
	{ CAP_HOLES, "holes" },
	{ CAP_ANY_NAME, "any-name" },
	{ CAP_RESUME, "resume" },
	{ CAP_OPEN_LISTENER, "open-listener" },
	{ CAP_EMPTY_TREE, "empty-tree" },
	{ CAP_SINGLE_FILE, "single-file" },
	{ CAP_ANY_ADDRESS, "any-address" },
	{ CAP_CEILING, "ceiling" },
};

const char *transport_cap_name(enum transport_cap cap)
{
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i].cap == cap)
			return caps[i].name;
	return NULL;
}

enum transport_cap transport_cap_from_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		if (strcmp(caps[i].name, name) == 0)
			return caps[i].cap;
	return 0;
}

/* The call that is missing, or NULL. */
static const char *missing_call(const struct transport *transport)
{
	bool pushes = transport->driver == XFER_SOURCE;
	/* Where a server or a program does the listening end, there is nothing for us to do. */
	bool served = (transport->needs || transport->caps & CAP_TOOL) &&
		      !(transport->caps & CAP_TWO_ENDED);
	if (!transport->probe)
		return ".probe";
	if (!transport->prepare)
		return ".prepare";
	if (!transport->send && (pushes || !served))
		return ".send";
	if (!transport->receive && (!pushes || !served))
		return ".receive";
	return transport->cleanup ? NULL : ".cleanup";
}

int transport_check_contract(const struct transport *transport, const char *name, struct error *err)
{
	const char *lacks = NULL;
	if (!transport->name || !transport->name[0])
		lacks = ".name";
	else if (!transport->summary)
		lacks = ".summary";
	else
		lacks = missing_call(transport);
	if (lacks)
		return error_set(err, ERROR_CONFIG, 0, "%s is missing", lacks);
	if (name && strcmp(transport->name, name) != 0)
		return error_set(err, ERROR_CONFIG, 0, ".name is '%s' instead of '%s'",
				 transport->name, name);
	if (transport->driver != XFER_SOURCE && transport->driver != XFER_SINK)
		return error_set(err, ERROR_CONFIG, 0, ".driver is neither source nor sink");
	for (uint32_t bit = 1; bit; bit <<= 1)
		if (transport->caps & bit && !transport_cap_name((enum transport_cap)bit))
			return error_set(err, ERROR_CONFIG, 0, ".caps has the unknown bit 0x%x",
					 bit);
	return option_table_check(transport->options, transport->options_size, err);
}

bool transport_moves_memory(const struct transport *transport, const void *options)
{
	return transport->memory ? transport->memory(options) : (transport->caps & CAP_MEMORY) != 0;
}

static int lacks(const struct transport *transport, const char *what, struct error *err)
{
	return error_set(err, ERROR_UNSUPPORTED, 0, "%s cannot carry %s, and this dataset has some",
			 transport->name, what);
}

int transport_can_carry(const struct transport *transport, const struct manifest *files,
			struct error *err)
{
	if (transport->caps & CAP_SINGLE_FILE && (files->files != 1 || files->count != 1))
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "%s carries exactly one file, and this dataset is something else",
				 transport->name);
	if (files->links > 0 && !(transport->caps & CAP_SYMLINKS))
		return lacks(transport, "symbolic links as links", err);
	if (files->empty_folders && !(transport->caps & CAP_EMPTY_FOLDERS))
		return lacks(transport, "empty folders", err);
	if (files->odd_names && !(transport->caps & CAP_ANY_NAME))
		return lacks(transport, "names with unusual bytes", err);
	if (files->count == 0 && !(transport->caps & CAP_EMPTY_TREE))
		return error_set(err, ERROR_UNSUPPORTED, 0, "%s cannot carry an empty tree",
				 transport->name);
	return 0;
}

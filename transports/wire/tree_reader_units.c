/* Files and parts of files ("units"): where they begin and end, whether they are good, and what
 * happens to those that are not. */
#include <fcntl.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "transports/wire/tree_reader_private.h"

/* Reads the PART record; an unsplit file is one part. */
static int take_cut(struct tree_reader *reader, struct split_part *part, struct error *err)
{
	if (!reader->splits)
		return error_set(err, ERROR_PEER, 0, "the peer sent a part of a file");
	if (tree_reader_next(reader, err) < 0)
		return -1;
	if (reader->record.type != WIRE_PART)
		return tree_reader_out_of_order(reader, err);
	part->length = reader->record.size;
	part->offset = reader->record.extra;
	if (part->length == 0 || part->length > part->file_size ||
	    part->offset > part->file_size - part->length)
		return error_set(err, ERROR_PEER, 0, "the peer sent a part outside its file");
	unit_coder_record(reader->coder, &reader->record);
	return 0;
}

/* Is the unit what its CHECK says? Always, where there are no sums. */
static int take_check(struct tree_reader *reader, bool *good, struct error *err)
{
	*good = true;
	if (!unit_coder_checks(reader->coder))
		return 0;
	uint64_t sum = unit_coder_sum(reader->coder);
	if (tree_reader_next(reader, err) < 0)
		return -1;
	if (reader->record.type != WIRE_CHECK)
		return tree_reader_out_of_order(reader, err);
	*good = reader->record.size == sum;
	return 0;
}

/* Nothing of a file or part that is not good stays: neither bytes nor what was counted. */
static int drop_unit(struct tree_reader *reader, int fd, const struct split_part *part, bool split,
		     struct error *err)
{
	atomic_fetch_sub_explicit(&reader->progress->bytes, reader->counted, memory_order_relaxed);
	atomic_fetch_sub_explicit(&reader->progress->unsent_bytes, reader->unsent,
				  memory_order_relaxed);
	reader->counted = reader->unsent = 0;
	if (!split)
		return tree_sink_remove(&reader->sink, reader->path, err);
	/* A hole that comes for this part must be one. */
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)part->offset,
		      (off_t)part->length) < 0)
		return error_system(err, "clear a bad part");
	return 0;
}

static int finish_unit(struct tree_reader *reader, int fd, const struct wire_record *file,
		       const struct split_part *part, struct error *err)
{
	bool complete = true;
	reader->bytes += part->length;
	reader->files++;
	if (file->flags & WIRE_FLAG_SPLIT &&
	    split_files_written(reader->splits, part, &complete, err) < 0)
		return -1;
	if (complete &&
	    tree_sink_file_done(&reader->sink, fd, file->mode, (int64_t)file->extra, err) < 0)
		return -1;
	reader->complete += complete;
	atomic_fetch_add_explicit(&reader->progress->files, complete, memory_order_relaxed);
	return 0;
}

/* Does the file hold what the SAME record says? */
static int compare_contents(struct tree_reader *reader, int fd, const struct split_part *part,
			    bool *same, struct error *err)
{
	if (tree_reader_next(reader, err) < 0)
		return -1;
	if (reader->record.type != WIRE_SAME)
		return tree_reader_out_of_order(reader, err);
	*same = false;
	return fd < 0 ? 0 : unit_coder_compare(reader->coder, fd, part, &reader->record, same, err);
}

/* The source asks whether we have this already: if not, it will send it. */
static int take_offer(struct tree_reader *reader, const struct wire_record *file,
		      const struct split_part *part, struct error *err)
{
	const bool split = file->flags & WIRE_FLAG_SPLIT;
	bool same = false;
	AUTO_FD fd = -1;
	int opened =
		split ? split_files_open(reader->splits, &reader->sink, part, &fd, err)
		      : tree_sink_existing(&reader->sink, part->path, part->file_size, &fd, err);
	if (opened < 0 || compare_contents(reader, fd, part, &same, err) < 0)
		return -1;
	if (same) {
		tree_reader_count_unsent(reader, part->length);
		return finish_unit(reader, fd, file, part, err);
	}
	if (drop_unit(reader, fd, part, split, err) < 0)
		return -1;
	return unit_coder_fault(reader->coder, reader->done, err);
}

static int take_unit(struct tree_reader *reader, const struct wire_record *file,
		     const struct split_part *part, struct error *err)
{
	const bool split = file->flags & WIRE_FLAG_SPLIT;
	bool good = true;
	AUTO_FD fd = -1;
	int opened = split ? split_files_open(reader->splits, &reader->sink, part, &fd, err)
			   : tree_sink_file(&reader->sink, reader->path, &fd, err);
	if (opened < 0)
		return -1;
	if (tree_reader_contents(reader, fd, part, err) < 0 || take_check(reader, &good, err) < 0) {
		/* The rest may come on another connection, and a part of a file is no file. */
		if (reader->broken && drop_unit(reader, fd, part, split, NULL) < 0)
			reader->broken = false;
		return -1;
	}
	if (!good)
		return drop_unit(reader, fd, part, split, err) < 0
			       ? -1
			       : unit_coder_fault(reader->coder, reader->done, err);
	if (finish_unit(reader, fd, file, part, err) < 0)
		return -1;
	if (close(take_fd(&fd)) < 0)
		return error_system(err, "close");
	return 0;
}

int tree_reader_file(struct tree_reader *reader, struct error *err)
{
	const struct wire_record file = reader->record;
	struct split_part part = { .path = reader->path, .file_size = file.size };
	part.length = file.size;
	reader->counted = reader->unsent = 0;
	if (file.size > INT64_MAX)
		return error_set(err, ERROR_PEER, 0, "the peer sent a file size out of range");
	unit_coder_begin(reader->coder, &file, reader->path);
	if (file.flags & WIRE_FLAG_SPLIT && take_cut(reader, &part, err) < 0)
		return -1;
	reader->turn = file.flags & WIRE_FLAG_SPLIT ? split_files_turn(reader->splits, reader->path)
						    : NULL;
	if (!(file.flags & WIRE_FLAG_SAME))
		return take_unit(reader, &file, &part, err);
	if (!unit_coder_resumes(reader->coder))
		return error_set(err, ERROR_PEER, 0, "the peer asked what is here");
	return take_offer(reader, &file, &part, err);
}

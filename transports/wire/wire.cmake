# What the transports share: streams, trees, files in parts. Knows no transport.
add_library(linefill_wire STATIC
	wire/beneath.c wire/channel.c wire/direct_io.c wire/gate.c wire/local_copy.c wire/memory_stream.c wire/part_queue.c wire/pretouch.c
	wire/rate_limit.c wire/server_process.c wire/splice_sink.c wire/split_files.c wire/tree_reader.c wire/tree_reader_contents.c
	wire/tree_reader_records.c wire/tree_reader_units.c wire/tree_sink.c wire/tree_source.c wire/tree_writer.c
	wire/tls_secret.c wire/tuning.c wire/unit_coder.c wire/wire.c)
target_link_libraries(linefill_wire PUBLIC linefill_api PRIVATE PkgConfig::OPENSSL PkgConfig::XXHASH PkgConfig::ZLIB Threads::Threads)

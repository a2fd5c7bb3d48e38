add_unit_test(manifest linefill_api)
add_unit_test(manifest_compare linefill_api)
add_unit_test(manifest_scan linefill_api PkgConfig::XXHASH)
target_link_options(test_manifest_scan PRIVATE -Wl,--wrap=parallel_run,--wrap=syscall)

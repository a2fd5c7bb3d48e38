if(OPENSSL_FOUND)
	add_unit_test(tls linefill_test_pair PkgConfig::OPENSSL Threads::Threads)
endif()

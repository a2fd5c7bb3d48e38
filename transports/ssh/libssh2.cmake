# The SSH library: what scripts/build-libssh2 made, if it did, else the system's.
set(LINEFILL_LIBSSH2 ${PROJECT_SOURCE_DIR}/build/libssh2 CACHE PATH "Where scripts/build-libssh2 put its library")
if(OPENSSL_FOUND AND EXISTS ${LINEFILL_LIBSSH2}/lib/libssh2.a)
	add_library(PkgConfig::LIBSSH2 STATIC IMPORTED)
	set_target_properties(PkgConfig::LIBSSH2 PROPERTIES
		IMPORTED_LOCATION ${LINEFILL_LIBSSH2}/lib/libssh2.a
		INTERFACE_INCLUDE_DIRECTORIES ${LINEFILL_LIBSSH2}/include
		INTERFACE_COMPILE_DEFINITIONS LINEFILL_LIBSSH2_OWN
		INTERFACE_LINK_LIBRARIES "PkgConfig::OPENSSL;PkgConfig::ZLIB")
	set(LIBSSH2_FOUND TRUE)
else()
	pkg_check_modules(LIBSSH2 IMPORTED_TARGET libssh2)
endif()

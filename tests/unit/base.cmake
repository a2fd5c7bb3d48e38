foreach(module error text option io child files random clock cancel shared_folder)
	add_unit_test(${module} linefill_base)
endforeach()

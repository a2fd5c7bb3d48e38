foreach(module error text option io child files random clock cancel)
	add_unit_test(${module} linefill_base)
endforeach()

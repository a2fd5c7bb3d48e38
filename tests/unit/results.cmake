add_unit_test(result linefill_api m)

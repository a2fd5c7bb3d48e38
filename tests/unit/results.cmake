add_unit_test(result linefill_api m)
add_unit_test(csv linefill_results m)
add_unit_test(statistics linefill_results m)

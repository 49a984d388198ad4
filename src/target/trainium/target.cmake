# target.cmake - the products of src/target/trainium are rounded before they are added, on every processor.
set_source_files_properties(src/target/trainium/machine/multiply.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

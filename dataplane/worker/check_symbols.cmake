# Proves that the linker sees one symbol of an instruction set's pipeline: its entry. A second one could be merged with
# an inline function of the same name elsewhere, and code for a better CPU would run on a plain one.
# cmake -DNM=nm -DOBJECT=pipeline_v4.o -DENTRY=sluice_pipeline_v4 -P check_symbols.cmake
execute_process(COMMAND "${NM}" --extern-only --defined-only --format=just-symbols "${OBJECT}"
  OUTPUT_VARIABLE symbols OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cannot read the symbols of ${OBJECT}")
endif()
if(NOT symbols STREQUAL ENTRY)
  message(FATAL_ERROR "${OBJECT} has other global symbols than ${ENTRY}:\n${symbols}")
endif()

# cmake -DPROGRAM=... -DREPORT=... -DSOURCE=... -P expect_report.cmake
# Succeeds when PROGRAM fails and its output holds REPORT and, in a stack trace, SOURCE.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} passed: its planted defect was not noticed\n${output}")
endif()
foreach(text ${REPORT} ${SOURCE})
  string(FIND "${output}" "${text}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${PROGRAM} failed with status ${status}, but its output lacks '${text}'\n${output}")
  endif()
endforeach()

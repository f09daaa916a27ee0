# Runs the example as its project would. Needs EXAMPLE, PROGRAM and WORK.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{ULPSCOPE_PROGRAM} ${PROGRAM})
set(ENV{OMP_NUM_THREADS} 1)

# expect(passes|fails TEXT [NAME=VALUE...]): runs it with these variables and looks for TEXT.
function(expect outcome text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} ${EXAMPLE} WORKING_DIRECTORY ${WORK}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(came fails)
  if(status EQUAL 0)
    set(came passes)
  endif()
  if(NOT came STREQUAL outcome OR NOT output MATCHES "${text}")
    message(FATAL_ERROR "with ${ARGN} it should be that it ${outcome} with '${text}'; status ${status}:\n${output}")
  endif()
endfunction()

expect(fails "there is no baseline in ulpscope-gate/training-step")
expect(passes "PASSED" ULPSCOPE_UPDATE=1)
expect(passes "PASSED")
expect(fails "First [^\n]*aten::mul" EXAMPLE_TEMPERATURE=0.6)
expect(passes "PASSED" EXAMPLE_TEMPERATURE=0.6 ULPSCOPE_UPDATE=1 "ULPSCOPE_REASON=it's warmer")
expect(passes "PASSED" EXAMPLE_TEMPERATURE=0.6)
file(READ ${WORK}/ulpscope-gate/training-step/history.md history)
if(NOT history MATCHES "it's warmer")
  message(FATAL_ERROR "the history lacks the reason:\n${history}")
endif()

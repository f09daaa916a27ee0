# Installs the recorder into a fresh prefix, builds the consumer against it and runs it.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
foreach(command
    "${CMAKE_COMMAND};--install;${BUILD};--component;dev;--prefix;${WORK}/prefix"
    "${CMAKE_COMMAND};-S;${SOURCE};-B;${WORK}/build;-G;Ninja;-DCMAKE_PREFIX_PATH=${WORK}/prefix;-DTorch_DIR=${TORCH};-DCMAKE_BUILD_TYPE=Release;-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "${CMAKE_COMMAND};--build;${WORK}/build"
    "${WORK}/build/consumer;${WORK}/run.ulps")
  execute_process(COMMAND ${command} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${command}")
  endif()
endforeach()

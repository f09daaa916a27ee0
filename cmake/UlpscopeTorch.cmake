# ulpscope_torch: the headers and the two libraries of LibTorch that the recorder is built against,
# and ULPSCOPE_TORCH_VERSION. Taken from Torch_DIR where given, else from the torch of the project's
# .venv, else from that of python3. The recorder uses internals of one minor version of torch, so
# another one is refused here.
if(NOT Torch_DIR)
  find_program(ULPSCOPE_PYTHON NAMES python3 python
               HINTS ${PROJECT_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
  find_program(ULPSCOPE_PYTHON NAMES python3 python)
  execute_process(
    COMMAND ${ULPSCOPE_PYTHON} -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE ulpscope_torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE ulpscope_torch_failed)
  if(ulpscope_torch_failed)
    message(FATAL_ERROR "No torch for ${ULPSCOPE_PYTHON}. Install torch==2.13.0 there, or set "
                        "Torch_DIR to the folder of its TorchConfig.cmake, or configure with "
                        "-DULPSCOPE_BUILD_HOOK=OFF.")
  endif()
  set(Torch_DIR "${ulpscope_torch_prefix}/Torch" CACHE PATH "Folder of TorchConfig.cmake" FORCE)
endif()

get_filename_component(ulpscope_torch_root "${Torch_DIR}/../../.." ABSOLUTE)
set(ulpscope_torch_include "${ulpscope_torch_root}/include")
set(ulpscope_torch_lib "${ulpscope_torch_root}/lib")
file(STRINGS "${ulpscope_torch_include}/torch/headeronly/version.h" ulpscope_torch_version_lines
     REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
string(REGEX REPLACE "[^0-9;]" "" ulpscope_torch_version_lines "${ulpscope_torch_version_lines}")
list(JOIN ulpscope_torch_version_lines "." ULPSCOPE_TORCH_VERSION)
if(NOT ULPSCOPE_TORCH_VERSION MATCHES "^2\\.13\\.")
  message(FATAL_ERROR "The recorder is written for torch 2.13; ${ulpscope_torch_root} has "
                      "'${ULPSCOPE_TORCH_VERSION}'. Install torch==2.13.0 or set Torch_DIR.")
endif()
foreach(library torch_cpu c10)
  if(NOT EXISTS "${ulpscope_torch_lib}/lib${library}.so")
    message(FATAL_ERROR "${ulpscope_torch_lib}/lib${library}.so is missing")
  endif()
endforeach()
message(STATUS "torch ${ULPSCOPE_TORCH_VERSION} in ${ulpscope_torch_root}")

# Not the imported target of TorchConfig.cmake: it drags in every backend of the wheel's build, and
# the recorder must load into any process that has these two.
if(NOT TARGET ulpscope_torch)
  add_library(ulpscope_torch INTERFACE)
  target_include_directories(ulpscope_torch SYSTEM INTERFACE
    "${ulpscope_torch_include}" "${ulpscope_torch_include}/torch/csrc/api/include")
  target_compile_definitions(ulpscope_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(ulpscope_torch INTERFACE
    "${ulpscope_torch_lib}/libtorch_cpu.so" "${ulpscope_torch_lib}/libc10.so")
endif()

# Writes SHIM_OUTPUT from the headers of torch that declare the C functions of the CPU's ops: a header
# with their declarations as one string, which shim_op.cpp reads.
set(declarations "")
foreach(header generated/c_shim_cpu.h c/shim_cpu.h)
  file(READ "${SHIM_HEADERS}/${header}" text)
  string(REGEX MATCHALL "AOTITorchError[ \n]+aoti_torch_cpu_[A-Za-z0-9_]+\\([^)]*\\)" found "${text}")
  foreach(declaration IN LISTS found)
    string(REGEX REPLACE "[ \n]+" " " declaration "${declaration}")
    string(APPEND declarations "${declaration}\n")
  endforeach()
endforeach()
if(declarations STREQUAL "")
  message(FATAL_ERROR "no aoti_torch_cpu_ function is declared below ${SHIM_HEADERS}")
endif()
file(CONFIGURE OUTPUT "${SHIM_OUTPUT}" @ONLY CONTENT
"#pragma once
// Made by shim_declarations.cmake from the headers of torch.
namespace ulpscope::native {
constexpr char kShimDeclarations[] = R\"declarations(
${declarations})declarations\";
}  // namespace ulpscope::native
")

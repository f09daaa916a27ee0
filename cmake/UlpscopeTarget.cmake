# ulpscope_target(NAME): the settings that every target of the project shares.
option(ULPSCOPE_WARNINGS_AS_ERRORS "Treat warnings as errors" ON)

find_program(ULPSCOPE_CCACHE ccache)
if(ULPSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ULPSCOPE_CCACHE})
endif()

# A fast linker where there is one: LibTorch's programs link in a third of the time.
include(CheckLinkerFlag)
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} ULPSCOPE_LINKER_${linker})
  if(ULPSCOPE_LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

function(ulpscope_target name)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  # Contracting a*b+c into one rounding would make statistics depend on the instruction set.
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-missing-field-initializers
                                         -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC's bugs 105651 and 105329: false alarms in std::string's operator+ and insert, under
    # whichever of these names the inlined memcpy is looked at.
    set(false_alarms -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${false_alarms}>")
  endif()
  if(ULPSCOPE_WARNINGS_AS_ERRORS)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
endfunction()

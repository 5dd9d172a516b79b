# Compiler flags of every room. What whoever uses the libraries must have as well is carried by the interface target
# amrbench_flags, which is exported (AmrbenchInstall.cmake); warnings, the processor and the linker are this build's own and
# stay with the folders.
add_library(amrbench_flags INTERFACE)
target_include_directories(amrbench_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_features(amrbench_flags INTERFACE cxx_std_20)
# mpi.h without the C++ bindings that MPI 3 removed: nobody uses them, and they take half a second of every source.
target_compile_definitions(amrbench_flags INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
# One rounding per operation everywhere, inline functions in the code of others included: results must not depend on the
# machine's FMA units (docs/architecture.md).
target_compile_options(amrbench_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# Those of CUDA sources stand in AmrbenchCuda.cmake.
function(amrbench_cxx_options)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${ARGV}>")
endfunction()
amrbench_cxx_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -ffp-contract=off)
if(AMRBENCH_WERROR)
  amrbench_cxx_options(-Werror)
  # GCC 13 sees bounds exceeded in vectors of the standard library that fmt 9 grows (fmt issue 3354): said, but no error.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    amrbench_cxx_options(-Wno-error=array-bounds)
  endif()
endif()
if(AMRBENCH_NATIVE)
  amrbench_cxx_options(-march=native)
endif()
# Which cache lines are asked for into (kernels/simd.hpp). AMD's Zen 5 is faster with the first-level one, its Zen 4 with the
# second (docs/decisions/0003-stencil-schedule.md).
set(AMRBENCH_PREFETCH auto CACHE STRING "Cache that kernels ask for lines into: first, second, or auto, by the processor")
set_property(CACHE AMRBENCH_PREFETCH PROPERTY STRINGS auto first second)
if(NOT AMRBENCH_PREFETCH MATCHES "^(auto|first|second)$")
  message(FATAL_ERROR "AMRBENCH_PREFETCH=${AMRBENCH_PREFETCH}: use auto, first or second")
endif()
set(prefetch ${AMRBENCH_PREFETCH})
if(prefetch STREQUAL auto)
  set(prefetch second)
  if(AMRBENCH_NATIVE AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo processor REGEX "^(vendor_id|cpu family)" LIMIT_COUNT 2)
    if(processor MATCHES "AuthenticAMD.*cpu family[ \t]*: 26")
      set(prefetch first)
    endif()
  endif()
endif()
if(prefetch STREQUAL first)
  amrbench_cxx_options(-DAMRBENCH_PREFETCH_FIRST)
endif()
# Where the processor lacks AVX-512, g++ warns that vectors of 8 doubles are passed otherwise than where it has it: both ends of each
# call are ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  include(CheckCXXSourceCompiles)
  if(AMRBENCH_NATIVE)
    set(CMAKE_REQUIRED_FLAGS -march=native)
  endif()
  check_cxx_source_compiles("#ifndef __AVX512F__\n#error\n#endif\nint main() {}" AMRBENCH_AVX512_NATIVE_${AMRBENCH_NATIVE})
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT AMRBENCH_AVX512_NATIVE_${AMRBENCH_NATIVE})
    amrbench_cxx_options(-Wno-psabi)
  endif()
endif()
# A linker that is quick beside those of the system: test programs are linked anew at every change.
find_program(AMRBENCH_LINKER NAMES mold ld.lld)
mark_as_advanced(AMRBENCH_LINKER)
if(AMRBENCH_LINKER)
  cmake_path(GET AMRBENCH_LINKER FILENAME linker)
  string(REPLACE "ld.lld" "lld" linker ${linker})
  add_link_options("$<$<LINK_LANGUAGE:CXX>:-fuse-ld=${linker}>")
endif()
if(AMRBENCH_SANITIZE)
  target_compile_options(amrbench_flags INTERFACE -fsanitize=${AMRBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(amrbench_flags INTERFACE -fsanitize=${AMRBENCH_SANITIZE})
endif()

if(AMRBENCH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT AMRBENCH_TESTS)
    message(FATAL_ERROR "AMRBENCH_FUZZ needs libFuzzer and the tests: use clang (cmake --preset fuzz)")
  endif()
  target_compile_options(amrbench_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(amrbench_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Libraries and tests are compiled a handful of sources at a time: most of a source's time goes into headers, clang-tidy's too.
# Names in anonymous namespaces must then differ within a room. Editors that read compile_commands.json want
# AMRBENCH_UNITY=OFF. CMake's own way of doing so names sources by absolute paths, which show in __FILE__: no other checkout
# would find the objects in the compiler's cache, or the tests' programs among those that passed.
option(AMRBENCH_UNITY "Compile several sources of a library together" ON)
# amrbench_unity(TARGET BATCH): compiles the target's .cpp files so many at a time (twice as many where the program alone is
# built, mostly from nothing), but for those that have definitions of their own or the property SKIP_UNITY_BUILD_INCLUSION.
# CUDA sources stay alone: their kernels take the time.
function(amrbench_unity target batch)
  if(NOT AMRBENCH_UNITY)
    return()
  endif()
  if(NOT AMRBENCH_TESTS AND NOT AMRBENCH_BENCHMARKS)
    math(EXPR batch "2 * ${batch}")
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone)
  set(together)
  foreach(source ${sources})
    get_source_file_property(skip ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(skip OR definitions OR NOT source MATCHES "\\.cpp$")
      list(APPEND alone ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  list(LENGTH together count)
  set(text)
  set(part 0)
  foreach(source ${together})
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
    string(APPEND text "#include \"${source}\"\n")
    math(EXPR part "${part} + 1")
    math(EXPR rest "${part} % ${batch}")
    if(rest EQUAL 0 OR part EQUAL count)
      set(file ${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${part}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      list(APPEND alone ${file})
      set(text)
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${alone})
endfunction()

# For code that reads, writes and calls those that compute: quick to compile, which is most of what it costs.
function(amrbench_quick_to_compile target)
  if(AMRBENCH_FUZZ)  # compiled once, called millions of times
    return()
  endif()
  target_compile_options(${target} BEFORE PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:$<IF:$<CONFIG:Release>,-O1,-O0>>")
endfunction()
# For rooms whose inner loops stand in others: -O3 would cost a sixth of their compilation more for no time of a run.
function(amrbench_no_inner_loops target)
  target_compile_options(${target} BEFORE PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:$<$<CONFIG:Release>:-O2>>")
endfunction()

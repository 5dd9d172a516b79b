# Compiler flags shared by every room, carried by the interface target amrbench_flags.
add_library(amrbench_flags INTERFACE)
target_include_directories(amrbench_flags INTERFACE ${PROJECT_SOURCE_DIR})
# mpi.h without the C++ bindings that MPI 3 removed: nobody uses them, and they take half a second of every source.
target_compile_definitions(amrbench_flags INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
# Those of CUDA sources stand in AmrbenchCuda.cmake.
function(amrbench_cxx_options)
  target_compile_options(amrbench_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${ARGV}>")
endfunction()
amrbench_cxx_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  # One rounding per operation everywhere: results must not depend on the machine's FMA units (docs/architecture.md).
  -ffp-contract=off)
if(AMRBENCH_WERROR)
  amrbench_cxx_options(-Werror)
endif()
if(AMRBENCH_NATIVE)
  amrbench_cxx_options(-march=native)
endif()
if(AMRBENCH_SANITIZE)
  target_compile_options(amrbench_flags INTERFACE -fsanitize=${AMRBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(amrbench_flags INTERFACE -fsanitize=${AMRBENCH_SANITIZE})
endif()

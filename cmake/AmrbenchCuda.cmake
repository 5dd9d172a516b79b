# The CUDA back end: whether it is built, for which GPUs, with which flags. Sources are *.cu beside their twins; a build
# without it leaves them out, and code asks by the macro AMRBENCH_CUDA (defined to 1 where it is built).
#
# Sets AMRBENCH_CUDA_ENABLED. Include after AmrbenchFlags.cmake and
# AmrbenchDependencies.cmake (OpenMP).
set(AMRBENCH_CUDA AUTO CACHE STRING "Build the CUDA back end: ON, OFF, or AUTO (where a toolkit is found)")
set_property(CACHE AMRBENCH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(AMRBENCH_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPU architectures to build for, as CMAKE_CUDA_ARCHITECTURES")
set(AMRBENCH_CUDA_LEAST 12.0)

if(NOT AMRBENCH_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "AMRBENCH_CUDA is \"${AMRBENCH_CUDA}\"; use AUTO, ON or OFF")
endif()

set(AMRBENCH_CUDA_ENABLED OFF)
set(reason "turned off by AMRBENCH_CUDA=OFF")
if(NOT AMRBENCH_CUDA STREQUAL "OFF")
  set(CMAKE_CUDA_ARCHITECTURES ${AMRBENCH_CUDA_ARCHITECTURES})
  if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})  # one compiler for all host code
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(reason "no CUDA toolkit with a working nvcc was found")
  else()
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS AMRBENCH_CUDA_LEAST)
      set(reason "the toolkit found is ${CMAKE_CUDA_COMPILER_VERSION}, ${AMRBENCH_CUDA_LEAST} or later is needed")
    else()
      set(AMRBENCH_CUDA_ENABLED ON)
    endif()
  endif()
  if(AMRBENCH_CUDA STREQUAL "ON" AND NOT AMRBENCH_CUDA_ENABLED)
    message(FATAL_ERROR "AMRBENCH_CUDA=ON, but ${reason}; set CMAKE_CUDA_COMPILER to its nvcc, or AMRBENCH_CUDA=OFF")
  endif()
endif()

if(NOT AMRBENCH_CUDA_ENABLED)
  message(STATUS "CUDA back end: not built (${reason})")
  return()
endif()
list(JOIN AMRBENCH_CUDA_ARCHITECTURES ", " architectures)
message(STATUS "CUDA back end: built with nvcc ${CMAKE_CUDA_COMPILER_VERSION} for architectures ${architectures}")

find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
target_compile_definitions(amrbench_flags INTERFACE AMRBENCH_CUDA=1)
target_link_libraries(amrbench_flags INTERFACE CUDA::toolkit)
target_compile_options(amrbench_flags INTERFACE
  # One rounding per operation, as on the CPU: fused multiply-add only where the source says so.
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--expt-relaxed-constexpr;-lineinfo>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wnon-virtual-dtor,-Wcast-align,-ffp-contract=off>"
  # Headers shared with the CPU hold OpenMP pragmas.
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${OpenMP_CXX_FLAGS}>")
if(AMRBENCH_NATIVE)
  target_compile_options(amrbench_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=native>")
endif()
if(AMRBENCH_WERROR)
  target_compile_options(amrbench_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()

# Optional: NCCL carries messages from GPU to GPU; without it they go through MPI or pinned memory.
option(AMRBENCH_NCCL "Let GPUs exchange messages through NCCL where it is installed" ON)
if(AMRBENCH_NCCL)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
  amrbench_optional(nccl libnccl-dev "messages from GPU to GPU through NCCL" "${NCCL_INCLUDE_DIR}" "${NCCL_LIBRARY}")
else()
  message(STATUS "nccl: turned off by AMRBENCH_NCCL=OFF")
endif()

# amrbench_add_cuda_sources(TARGET): adds the *.cu of the current folder to a library of C++ sources.
function(amrbench_add_cuda_sources target)
  file(GLOB sources CONFIGURE_DEPENDS *.cu)
  target_sources(${target} PRIVATE ${sources})
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()

# Compiler flags shared by every room, carried by the interface target amrbench_flags.
add_library(amrbench_flags INTERFACE)
target_include_directories(amrbench_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(amrbench_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  # One rounding per operation everywhere: results must not depend on the machine's FMA units (docs/architecture.md).
  -ffp-contract=off)
if(AMRBENCH_WERROR)
  target_compile_options(amrbench_flags INTERFACE -Werror)
endif()
if(AMRBENCH_NATIVE)
  target_compile_options(amrbench_flags INTERFACE -march=native)
endif()
if(AMRBENCH_SANITIZE)
  target_compile_options(amrbench_flags INTERFACE -fsanitize=${AMRBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(amrbench_flags INTERFACE -fsanitize=${AMRBENCH_SANITIZE})
endif()

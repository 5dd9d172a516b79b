# What tests need in a build with AMRBENCH_SANITIZE: the sanitizers' run-time options. Open MPI and the libraries below it
# keep memory until the process ends and are not instrumented, hence the suppressions; the planted defects of
# tests/sanitizers/ prove that ours are still reported. An allocation that is too large fails as it does without sanitizers,
# since tests ask for one. Look-ups of thread-local variables are not intercepted (intercept_tls_get_addr=0): with what it
# notes of them LeakSanitizer 14 reads a wild address at the end of tests of partitioners on two ranks, and dies.

# amrbench_sanitizer_environment(VAR): list of NAME=value for the tests of this build; empty without sanitizers.
function(amrbench_sanitizer_environment out)
  set(dir ${PROJECT_SOURCE_DIR}/tests/sanitizers)
  set(environment)
  if(AMRBENCH_SANITIZE MATCHES "address")
    list(APPEND environment
      "ASAN_OPTIONS=fast_unwind_on_malloc=0:strict_string_checks=1:allocator_may_return_null=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0"
      "LSAN_OPTIONS=suppressions=${dir}/lsan.supp:print_suppressions=0")
  endif()
  if(AMRBENCH_SANITIZE MATCHES "undefined")
    list(APPEND environment "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
  if(AMRBENCH_SANITIZE MATCHES "thread")
    find_library(AMRBENCH_ARCHER archer HINTS /usr/lib/llvm-14/lib)
    if(NOT AMRBENCH_ARCHER)
      message(FATAL_ERROR "ThreadSanitizer needs libarcher, which tells it about OpenMP: install libomp-14-dev")
    endif()
    list(APPEND environment
      "TSAN_OPTIONS=allocator_may_return_null=1:ignore_noninstrumented_modules=1:suppressions=${dir}/tsan.supp"
      "OMP_TOOL_LIBRARIES=${AMRBENCH_ARCHER}")
  endif()
  set(${out} ${environment} PARENT_SCOPE)
endfunction()

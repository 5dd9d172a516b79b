# Install and export: the program, and what another project needs to find_package(amrbench), from the install tree or from this
# build tree (docs/using-as-a-library.md). Include after all rooms are defined.
#
# A room is a component with an export set of its own, so that who takes curves alone needs no MPI. Headers are included as here,
# "sfc/key.hpp", from include/amrbench.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/amrbench)
set(build_package_dir ${PROJECT_BINARY_DIR}/cmake)

foreach(room flags sfc support kernels partitioners amr loadbalance)
  set_property(TARGET amrbench_${room} PROPERTY EXPORT_NAME ${room})
  install(TARGETS amrbench_${room} EXPORT amrbench_${room} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/amrbench)
  install(EXPORT amrbench_${room} NAMESPACE amrbench:: FILE amrbench_${room}.cmake DESTINATION ${package_dir})
  export(EXPORT amrbench_${room} NAMESPACE amrbench:: FILE ${build_package_dir}/amrbench_${room}.cmake)
  if(NOT room STREQUAL flags)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/amrbench/${room}
            FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
  endif()
endforeach()

# Instruction sets that headers of `kernels` and `amr` ask about. A build for this machine's processor (AMRBENCH_NATIVE) has
# them, and vectors of their length are passed by value: code compiled without them would disagree with the library about
# inline functions. Hence they are handed on, as what they are: -march=native would mean another processor elsewhere.
set(AMRBENCH_INSTRUCTION_SETS)
if(AMRBENCH_NATIVE)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
  foreach(set avx avx2 fma avx512f)
    string(TOUPPER ${set} upper)
    if(macros MATCHES "#define __${upper}__ ")
      list(APPEND AMRBENCH_INSTRUCTION_SETS -m${set})
    endif()
  endforeach()
endif()

# Libraries that ours were linked with and that have no package of their own: their places here, where a consumer looks first.
set(AMRBENCH_LINK_AGAIN)
get_property(optional DIRECTORY PROPERTY AMRBENCH_OPTIONAL)
foreach(entry ${optional})
  separate_arguments(entry)
  list(POP_FRONT entry name)
  set(room partitioners)
  if(name STREQUAL nccl)
    set(room support)
  elseif(name STREQUAL hdf5)
    set(room amr)
  endif()
  set(arguments)
  foreach(variable ${entry})
    string(APPEND arguments " ${variable} \"${${variable}}\"")
  endforeach()
  string(APPEND AMRBENCH_LINK_AGAIN "amrbench_link_again(${room} ${name}${arguments})\n")
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/amrbenchConfig.cmake.in ${build_package_dir}/amrbenchConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${build_package_dir}/amrbenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${build_package_dir}/amrbenchConfig.cmake ${build_package_dir}/amrbenchConfigVersion.cmake
        DESTINATION ${package_dir})

# The program with its inputs, and the scripts that need no checkout.
set_property(TARGET amrbench PROPERTY INSTALL_RPATH_USE_LINK_PATH ON)  # libraries outside the system's folders
install(TARGETS amrbench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/amrbench)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts DESTINATION ${CMAKE_INSTALL_DATADIR}/amrbench USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN "*.py" PATTERN clang_tidy.py EXCLUDE PATTERN studies EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/studies DESTINATION ${CMAKE_INSTALL_DATADIR}/amrbench/scripts OPTIONAL
        PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/amrbench/docs OPTIONAL)  # beside them
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The install tree: include/jitfuse (api/*.h, and DLPack), the library, its CMake package, the command. The parts
# that ./dev bundle adds (tests, benchmarks, the inside) are components of their own, left out by default.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/jitfuse)

install(TARGETS jitfuse EXPORT jitfuseTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT jitfuseTargets NAMESPACE jitfuse:: DESTINATION ${package_dir})
configure_package_config_file(cmake/jitfuseConfig.cmake.in ${PROJECT_BINARY_DIR}/jitfuseConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/jitfuseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/jitfuseConfig.cmake ${PROJECT_BINARY_DIR}/jitfuseConfigVersion.cmake
  DESTINATION ${package_dir})

# Headers of api/ that say "Not installed" in their opening comment stay at home. In the repository a header says "api/x.h" and "dlpack/dlpack.h"; installed it says "jitfuse/x.h" and
# "jitfuse/dlpack/dlpack.h", so that a user needs one include folder and no other DLPack is shadowed.
install(CODE "
  set(from \"${PROJECT_SOURCE_DIR}\")
  set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/jitfuse\")
  file(GLOB headers \"\${from}/api/*.h\" \"\${from}/api/*.inc\")
  foreach(header IN LISTS headers)
    get_filename_component(name \"\${header}\" NAME)
    file(READ \"\${header}\" text)
    string(SUBSTRING \"\${text}\" 0 1500 opening)
    if(opening MATCHES \"Not installed\")
      continue()
    endif()
    string(REGEX REPLACE \"#include \\\"api/\" \"#include \\\"jitfuse/\" text \"\${text}\")
    string(REGEX REPLACE \"#include ([<\\\"])dlpack/\" \"#include \\\\1jitfuse/dlpack/\" text \"\${text}\")
    file(WRITE \"\${to}/\${name}\" \"\${text}\")
  endforeach()
  file(INSTALL \"\${from}/third_party/dlpack/dlpack.h\" DESTINATION \"\${to}/dlpack\")
")
if(TARGET jitfuse_cli)
  install(TARGETS jitfuse_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})

# For the bundle: everything else that is built.
install(TARGETS jitfuse_inside LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT bundle EXCLUDE_FROM_ALL)
set(folders examples tools)
if(JF_TESTS)
  list(APPEND folders tests)
endif()
if(JF_BENCH)
  list(APPEND folders bench)
endif()
foreach(folder ${folders})
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" AND NOT target STREQUAL "jitfuse_cli")
      install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT bundle EXCLUDE_FROM_ALL)
    endif()
  endforeach()
endforeach()

# jf_room(NAME DIR [DEPS...]): one folder of the house as one object library.
# Every *.cc of DIR (not of its subfolders) is taken, new files are picked up by the next build, and an empty
# folder is legal. DEPS are the rooms it may see: the link graph mirrors the layer table of HACKING.md, and
# tools/check_layers.py checks the same table on the includes.
function(jf_room NAME DIR)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${DIR}/*.cc)
  if(NOT sources)
    set(sources ${PROJECT_BINARY_DIR}/empty.cc)
  endif()
  add_library(${NAME} OBJECT ${sources})
  target_link_libraries(${NAME} PUBLIC jf_common ${ARGN})
  set_property(GLOBAL APPEND PROPERTY JF_ROOMS ${NAME})
endfunction()

# jf_sources(VAR PATTERN...): the sources below the repository root that match, recursively; a new file
# makes the next build configure again.
function(jf_sources VAR)
  set(found "")
  foreach(pattern ${ARGN})
    file(GLOB_RECURSE some CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
    list(APPEND found ${some})
  endforeach()
  set(${VAR} "${found}" PARENT_SCOPE)
endfunction()

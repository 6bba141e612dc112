# cmake -DOUT=file -DDIR=folder -P stringify.cmake: writes one JF_PRELUDE(stem, R"jf(text)jf") per DIR/*.cuh.
# Compilers that limit a literal's length are not ours (gcc and clang have no limit).
file(GLOB files ${DIR}/*.cuh)
list(SORT files)
set(text "// Generated from codegen/cuda/prelude/*.cuh by cmake/stringify.cmake.\n")
foreach(file IN LISTS files)
  get_filename_component(stem "${file}" NAME_WE)
  file(READ "${file}" body)
  if(body MATCHES "\\)jf\"")
    message(FATAL_ERROR "${file} holds the raw string's closing delimiter")
  endif()
  string(APPEND text "JF_PRELUDE(${stem}, R\"jf(${body})jf\")\n")
endforeach()
file(WRITE "${OUT}" "${text}")

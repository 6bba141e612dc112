# Finds LLVM 19 and makes jf_llvm, an interface library of the static archives that the CPU back end needs.
# Its include folders are not part of it: they are given to cpu_backend/orc_compile.cc alone.
if(NOT LLVM_DIR AND EXISTS /usr/lib/llvm-19/lib/cmake/llvm)
  set(LLVM_DIR /usr/lib/llvm-19/lib/cmake/llvm CACHE PATH "folder of LLVMConfig.cmake")
endif()
find_package(LLVM 19.1 CONFIG REQUIRED)  # plain "19" is refused by its version file
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
# The exported target names libz3 and libxml2 by their paths, whether or not they are there; nothing of ours uses them.
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "LLVMDemangle;m;z;zstd;${CMAKE_DL_LIBS}")
llvm_map_components_to_libnames(jf_llvm_libs OrcJIT Passes X86CodeGen X86AsmParser X86Desc X86Info)
add_library(jf_llvm INTERFACE)
target_link_libraries(jf_llvm INTERFACE ${jf_llvm_libs})

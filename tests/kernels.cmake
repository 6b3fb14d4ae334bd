# Makes ready the directory KERNELS, in which the tests of BUILD keep the kernels that they compile. It is emptied for other
# sources than it is of, and for a BUILD that has used it: so each run compiles for itself, or loads what another build of
# these very sources has compiled, by a key that has the text, the compiler and its options.
# usage: cmake -DKERNELS=DIR -DBUILD=DIR -P kernels.cmake
cmake_policy(VERSION 3.25)
set(sources ${CMAKE_CURRENT_LIST_DIR}/../CMakeLists.txt)
foreach(layer base shapes ir codegen kernels_cache runtime frontend)
    file(GLOB_RECURSE files ${CMAKE_CURRENT_LIST_DIR}/../${layer}/*)
    list(APPEND sources ${files})
endforeach()
list(FILTER sources EXCLUDE REGEX "/frontend/python/") # which makes files as it is used
foreach(file IN LISTS sources)
    file(SHA256 ${file} digest)
    string(APPEND digests ${digest})
endforeach()
string(SHA256 sources "${digests}")

set(users ${KERNELS}.users) # a line of the sources, and a line a build
set(known "")
if(EXISTS ${users})
    file(STRINGS ${users} known)
endif()
list(POP_FRONT known of)
if(NOT sources STREQUAL "${of}" OR BUILD IN_LIST known)
    file(REMOVE_RECURSE ${KERNELS})
    file(WRITE ${users} "${sources}\n")
endif()
file(APPEND ${users} "${BUILD}\n")

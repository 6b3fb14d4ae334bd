# kiln_add_program(TARGET FILE [CPU] [ARCHS sm_80 sm_90...] [NAME name] [SIZES NAME=f32[8,64]...] [AT "N=8 C=64"...])
#
# The library TARGET, of which `kiln emit` writes the C files when FILE (or FILE:FUNCTION) is newer: what links to it includes
# "name.h" and needs nothing of kiln's. name: of functions and files; without one it is FUNCTION, or FILE's without its ending.
# It runs on the CPU, on GPUs of these architectures (NVRTC compiles for them, where it is built), or on both. SIZES get code
# of their own, and so does each set of AT, by the names of sizes.
function(kiln_add_program target file)
    cmake_parse_arguments(PARSE_ARGV 2 arg "CPU" "NAME" "ARCHS;SIZES;AT")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "kiln_add_program(${target}): what is ${arg_UNPARSED_ARGUMENTS}?")
    endif()
    if(NOT arg_CPU AND NOT arg_ARCHS)
        message(FATAL_ERROR "kiln_add_program(${target}): say what it is to run on: CPU, ARCHS sm_90, or both")
    endif()
    string(REGEX REPLACE ":[A-Za-z0-9_]+$" "" path "${file}")
    cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE text)
    if(arg_NAME)
        set(name ${arg_NAME})
    elseif(file MATCHES ":([A-Za-z0-9_]+)$")
        set(name ${CMAKE_MATCH_1})
    else()
        cmake_path(GET text STEM name)
    endif()
    string(REPLACE "${path}" "${text}" subject "${file}")
    set(dir ${CMAKE_CURRENT_BINARY_DIR}/${target}.kiln)
    set(files ${dir}/${name}.c ${dir}/${name}.h)
    set(on "")
    set(libraries m)
    if(arg_CPU)
        list(APPEND files ${dir}/kiln_cpu.h)
        list(APPEND on --cpu)
    endif()
    if(arg_ARCHS)
        list(APPEND files ${dir}/${name}_cubin.h ${dir}/kiln_cuda.h)
        list(JOIN arg_ARCHS "," archs)
        list(APPEND on --arch ${archs})
        list(APPEND libraries ${CMAKE_DL_LIBS} pthread)
    endif()
    if(arg_AT)
        list(JOIN arg_AT " | " sizes)
        list(APPEND on --sizes ${sizes})
    endif()
    add_custom_command(OUTPUT ${files}
        COMMAND kiln::command emit ${subject} ${on} --name ${name} -o ${dir} ${arg_SIZES}
        DEPENDS ${text} kiln::command
        COMMENT "Emitting ${name}" VERBATIM)
    add_library(${target} STATIC ${files})
    target_include_directories(${target} PUBLIC ${dir})
    set_target_properties(${target} PROPERTIES C_STANDARD 11 POSITION_INDEPENDENT_CODE ON)
    # its loops are to be vectorised; none of these changes a value
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-math-errno -fno-trapping-math
        "$<$<C_COMPILER_ID:GNU>:-fno-thread-jumps;-fno-tree-pre;-fno-split-paths>")
    target_link_libraries(${target} PUBLIC ${libraries})
endfunction()

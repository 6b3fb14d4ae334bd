# Before the packages are made of what is staged: each says under which licence it is.
foreach(component library development command)
    string(TOUPPER ${component} upper)
    set(staged ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component})
    if(IS_DIRECTORY ${staged})
        configure_file(${CPACK_SOURCE_FOLDER}/LICENSE
                       ${staged}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}/copyright COPYONLY)
    endif()
endforeach()

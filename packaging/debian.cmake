# Debian packages of a build: `cpack -G DEB` in its folder, or ./dev deb. The library, what it is built with, and the
# command are a package each, by their components.
set(soname ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_PACKAGE_CONTACT "the authors of kiln <kiln@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development command)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libkiln${soname})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${PROJECT_DESCRIPTION}
 The shared library. It finds the CUDA driver and NVRTC at run time, and computes on the CPU without them.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libkiln-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libkiln${soname} (= ${PROJECT_VERSION}), kiln (= ${PROJECT_VERSION})")
# what the static library is linked with
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libxxhash-dev, libboost-context-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}
 Headers, the static library, files for CMake and pkg-config, and the documents.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME kiln)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "${PROJECT_DESCRIPTION}
 The command, which runs, measures and explains programs from files.")

set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/copyright.cmake)
set(CPACK_SOURCE_FOLDER ${PROJECT_SOURCE_DIR})
include(CPack)

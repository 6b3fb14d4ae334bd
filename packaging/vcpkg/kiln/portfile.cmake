# kiln for vcpkg, from the sources that this file lies in: vcpkg install kiln --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)

vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH} OPTIONS -DKILN_DEVELOPER=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kiln)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES kiln AUTO_CLEAN)
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)

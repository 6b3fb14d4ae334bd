"""kiln for Conan 2, from the sources that this file lies in: conan create packaging/conan --build=missing"""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Kiln(ConanFile):
    name = "kiln"
    version = "0.2.0"
    description = "Array expressions compiled to one GPU kernel at run time"
    license = "Apache-2.0"
    topics = ("gpu", "cuda", "arrays", "fusion")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False, "boost/*:without_context": False}

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")  # it is C
        self.settings.rm_safe("compiler.cppstd")

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for folder in ["base", "shapes", "ir", "codegen", "kernels_cache", "runtime", "frontend", "cli", "cmake", "docs",
                       "packaging"]:
            copy(self, "*", os.path.join(root, folder), os.path.join(self.export_sources_folder, folder))
        for file in ["CMakeLists.txt", "LICENSE", "README.md", "HACKING.md", "CHANGELOG.md"]:
            copy(self, file, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("xxhash/0.8.3")
        self.requires("uthash/2.3.0")
        self.requires("boost/1.86.0")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["KILN_DEVELOPER"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # kiln's own configuration for CMake, which has kiln_add_program() too
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "kiln")]
        self.cpp_info.set_property("pkg_config_name", "kiln")
        self.cpp_info.libs = ["kiln"]
        self.cpp_info.requires = ["xxhash::xxhash", "uthash::uthash", "boost::context"]
        self.cpp_info.system_libs = ["pthread", "dl", "m"]

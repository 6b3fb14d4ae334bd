"""kiln for Spack, from the sources that this file lies in: spack repo add packaging/spack && spack install kiln"""
import os

from spack.package import *

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))


class Kiln(CMakePackage):
    """Array expressions compiled to one GPU kernel at run time."""

    license("Apache-2.0")

    version("0.2.0", git=f"file://{ROOT}", branch="main")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type="build")  # writes the man pages
    depends_on("uthash", type="build")
    depends_on("boost+context")
    depends_on("xxhash")

    generator("ninja")

    def cmake_args(self):
        return [self.define("KILN_DEVELOPER", False)]

"""Puts into the package: the library's public headers, from which the binding is made, its version and, if `./dev build` has made them, the
library itself and the programs in which it runs kernels."""

import re
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

TREE = Path(__file__).resolve().parent.parent
HEADERS = TREE / "include" / "tilewright"
LIBRARY = TREE / "build" / "libtilewright.so"
PROGRAMS = sorted((TREE / "build").glob("tilewright-*-runner"))


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "tilewright"
        for folder in ("headers", "lib"):  # what an earlier build left there may be of another version
            shutil.rmtree(package / folder, ignore_errors=True)
        (package / "headers").mkdir(parents=True)
        for header in HEADERS.glob("*.h"):
            shutil.copy(header, package / "headers")
        if LIBRARY.exists():
            (package / "lib").mkdir()
            for file in (LIBRARY, *PROGRAMS):
                shutil.copy(file, package / "lib")


class WithLibrary(Distribution):
    def has_ext_modules(self):
        """Is the wheel for this platform alone?"""
        return LIBRARY.exists()


version = re.search(r'TILEWRIGHT_VERSION "(.*)"', (HEADERS / "tilewright.h").read_text()).group(1)
setup(version=version, cmdclass={"build_py": BuildWithLibrary}, distclass=WithLibrary)

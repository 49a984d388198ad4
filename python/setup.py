"""Puts the library's public headers, from which the binding is made, and its version into the package."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HEADERS = Path(__file__).resolve().parent.parent / "include" / "tilewright"


class BuildWithHeaders(build_py):
    def run(self):
        super().run()
        target = Path(self.build_lib) / "tilewright" / "headers"
        target.mkdir(parents=True, exist_ok=True)
        for header in HEADERS.glob("*.h"):
            shutil.copy(header, target)


version = re.search(r'TILEWRIGHT_VERSION "(.*)"', (HEADERS / "tilewright.h").read_text()).group(1)
setup(version=version, cmdclass={"build_py": BuildWithHeaders})

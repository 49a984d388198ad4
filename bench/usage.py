"""Answers --help with the description of the script that imports this module, before anything that may be missing is imported.

Used by the scripts of this folder that take no options."""
import sys

import __main__

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__main__.__doc__.strip())
    sys.exit()

"""Answers --help with the description of the script that imports this module, before anything that may be missing is imported.

Rejects an option that the description does not name.
Used by the scripts of this folder that do without argparse."""
import os
import sys

import __main__
import needs  # noqa: F401

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__main__.__doc__.strip())
    sys.exit()
for argument in sys.argv[1:]:
    if argument.startswith("--") and argument not in __main__.__doc__:
        sys.exit("%s: unknown option '%s'; --help shows the usage" % (os.path.basename(sys.argv[0]), argument))

"""`python -m suffice` is the command line."""

import sys

from suffice.cli import main

if __name__ == "__main__":
    sys.exit(main())

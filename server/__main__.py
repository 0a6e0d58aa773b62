"""`python -m server` is `strictcall`, for where scripts are not on the path."""

import sys

from server.main import main

if __name__ == "__main__":
    sys.exit(main())

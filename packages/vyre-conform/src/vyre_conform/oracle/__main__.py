"""Run one process of opinions."""

import sys

from vyre_conform.oracle.serve import main

sys.exit(main())

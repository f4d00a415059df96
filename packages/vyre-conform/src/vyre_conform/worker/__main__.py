"""Run one worker."""

import sys

from vyre_conform.worker.serve import main

sys.exit(main(*sys.argv[1:]))

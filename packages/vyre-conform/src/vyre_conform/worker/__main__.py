"""Run one worker."""

import sys
import traceback

from vyre_conform.worker.serve import main

try:
    status = main(*sys.argv[1:])
except SystemExit:  # of the backend: the interpreter would end without a word about where it was
    traceback.print_exc()
    raise
sys.exit(status)

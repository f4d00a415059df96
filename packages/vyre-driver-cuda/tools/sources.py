"""Prints the fingerprint of this working tree's sources; with ``device``, the facts of the GPU as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from vyre_driver.observe.provenance import SourceProvenance

FACTS = (
    *("device", "vendor", "driver_version", "compiler", "compute_units", "global_memory_bytes", "l2_cache_bytes"),
    *("max_shared_memory_bytes", "max_resident_invocations", "mem_bw_gbps"),
)


def main() -> None:
    if sys.argv[1:] != ["device"]:
        print(SourceProvenance.capture(Path(__file__).parent).source_fingerprint)
        return
    if os.environ.get("VYRE_CUDA_REHEARSAL"):
        from cuda_emulation.rehearsal import rehearsed

        backend = rehearsed()
    else:
        from vyre_driver import acquire

        backend = acquire("cuda")
    facts = asdict(backend.device_profile())
    print(json.dumps({name: facts[name] for name in FACTS}))


if __name__ == "__main__":
    main()

"""How often each byte occurs: atomics in workgroup memory, then on the result, compared with NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vyre.demo.corpus import Corpus
from vyre.demo.job import Array, Job
from vyre_driver import DispatchConfig
from vyre_foundation import Program, program, u8, u32
from vyre_foundation.functions import min as least

GROUP = 256
BYTES_EACH = 64
"""Bytes that one invocation counts."""


def histogram_program() -> Program:
    """`count` gets the number of bytes of `text` of each of the 256 values."""
    with program("byte_histogram", workgroup_size=GROUP) as p:
        text = p.read("text", u8)
        count = p.write("count", u32, 256)
        local = p.workgroup("local_count", u32, 256)

        first = p.let(p.workgroup_id(0) * (GROUP * BYTES_EACH) + p.local_id(0))
        stop = least(p.workgroup_id(0) * (GROUP * BYTES_EACH) + GROUP * BYTES_EACH, text.length)
        with p.range(first, stop, step=GROUP, name="position") as position:
            local.atomic_add(text[position].cast(u32), 1)
        p.barrier()
        count.atomic_add(p.local_id(0), local[p.local_id(0)])
    return p.build()


def job(corpus: Corpus) -> Job:
    """Count the bytes of a text by value, with atomics in workgroup memory."""

    def oracle() -> Mapping[str, Array]:
        return {"count": np.bincount(corpus.text, minlength=256).astype(np.uint32)}

    return Job(
        name="byte histogram",
        program=histogram_program(),
        inputs={"text": corpus.text},
        oracle_name="numpy.bincount",
        oracle=oracle,
        config=DispatchConfig(label="histogram", grid_override=(-(-corpus.text.size // (GROUP * BYTES_EACH)), 1, 1)),
    )

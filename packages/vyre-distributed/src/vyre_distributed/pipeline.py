"""Programs with persistent buffers: the client keeps their contents, which travel as an input and an output."""

from __future__ import annotations

import threading
from dataclasses import replace

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.engine.resident import HostMemoryBackend, HostMemoryPipeline
from vyre_driver.errors import InvalidInput
from vyre_driver.pipeline.compile import pipeline_config
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.lengths import bind_inputs
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Length, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Stmt, Store
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions


class PersistentPipeline(HostMemoryPipeline):
    """A program with its persistent memory. Dispatches of one pipeline run one after another.

    A dispatch that fails changes none of it.
    """

    def __init__(self, backend: HostMemoryBackend, program: Program, config: DispatchConfig) -> None:
        super().__init__(backend, program, config)
        self._stateless = with_persistent_as_storage(program)
        self._contents: dict[str, memoryview] = {}
        self._lock = threading.Lock()

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """See `CompiledPipeline.dispatch`."""
        self._require_open()
        chosen = pipeline_config(self._config, config)
        views = bind_inputs(self._program, borrowed_input_slices(inputs))
        grid = None if chosen.grid_override is not None else read_indirect_grid(self._program, views)
        plan = plan_launch(self._program, [view.nbytes for view in views], chosen, indirect_grid=grid)
        given = dict(zip(plan.inputs, views, strict=True))
        with self._lock:
            for buffer in self._program.buffers:
                if buffer.memory is Memory.PERSISTENT:
                    given[buffer.name] = self._held(buffer, plan.byte_length(buffer.name))
            ordered = [given[buffer.name] for buffer in self._stateless.inputs]
            options = chosen.replace(grid_override=plan.grid, max_output_bytes=None)
            found = self._backend.dispatch(self._stateless, ordered, options)
            outputs = {b.name: data for b, data in zip(self._stateless.outputs, found, strict=True)}
            self._contents.update({name: outputs[name] for name in self._contents})
        return [outputs[buffer.name] for buffer in self._program.outputs]

    def _held(self, buffer: Buffer, size: int) -> memoryview:
        held = self._contents.setdefault(buffer.name, memoryview(bytes(size)))
        if held.nbytes != size:
            needed = f"{held.nbytes} bytes, as in the pipeline's first dispatch"
            fix = "dispatch with inputs of the same lengths, or compile another pipeline"
            raise InvalidInput(buffer.name, needed=needed, got=f"{size} bytes", fix=fix)
        return held


def with_persistent_as_storage(program: Program) -> Program:
    """`program` with its persistent buffers as inputs that are outputs, too."""
    buffers = {b: b.replace(memory=Memory.STORAGE) if b.memory is Memory.PERSISTENT else b for b in program.buffers}
    memo: dict[Expr, Expr] = {}

    def node(expr: Expr) -> Expr:
        match expr:
            case Load(buffer, index):
                return Load(buffers[buffer], index)
            case Length(buffer):
                return Length(buffers[buffer])
        return expr

    def statement(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda root: rewrite(root, node, memo))
        return replace(stmt, buffer=buffers[stmt.buffer]) if isinstance(stmt, (Store, Atomic)) else stmt

    made = replace(program, buffers=tuple(buffers.values()), body=rewrite_body(program.body, statement))
    return made if program.origins is None else made.with_origins(program.origins)

"""Shared packages do not speak the language of any target.

Names, comments and texts of their sources are cut into words, at underscores and at capitals, so that `current` and
`clamp` pass while `cuMemAlloc`, `cl_mem` and `PyOpenCL` do not. Install hints for known backends may name them, in one
file.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED = ["vyre-foundation", "vyre-math", "vyre-driver", "vyre-algorithms", "vyre-reference", "vyre-conform"]
DATA = {".css", ".html", ".j2", ".json", ".svg", ".toml", ".txt", ".vyre"}
ALLOWED = {"vyre-driver/src/vyre_driver/registry/known.py"}

# Words of a target: its name, its runtime's prefix, its file kinds, its way to say a common thing.
WORDS = frozenset(
    """
    cl opencl pyopencl pocl oclgrind icd ndrange
    cu cuda cudart cubin cupy fatbin nvcc nvidia nvptx nvrtc ptx ptxas sass warp warps syncthreads
    hip hsaco rocm amdgpu metal metallib msl
    spirv vulkan wgpu dxil
    """.split()
)
# What cutting at capitals would tear apart, or what is only a target's word with its decoration.
SPELLINGS = re.compile(
    r"open_?cl|(?<![a-z])nd_?range|(?-i:ND_?Range)|sync_?threads|spir-?v\b"
    r"|\bsm_\d\d|\bget_(?:global|local|group)_(?:id|size)\b|\b(?:block|thread)(?:Idx|Dim)\b"
    r"|\b__(?:kernel|global|local|constant|shared|device|launch_bounds)(?:__)?\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
READABLE = {tokenize.NAME, tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def target_words(text: str) -> set[str]:
    words = {word.lower() for word in WORD.findall(text)}
    return words & WORDS | {match.group().lower() for match in SPELLINGS.finditer(text)}


def findings(source: str) -> Iterator[tuple[int, str]]:
    """Line and word of each target word in a module's names, texts and comments."""
    if not target_words(source):
        return  # nor has a token one: most modules need not be cut into tokens
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in READABLE:
            for word in sorted(target_words(token.string)):
                yield token.start[0], word


def data_findings(text: str) -> Iterator[tuple[int, str]]:
    """The same for a data file or a template that ships beside the modules."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in sorted(target_words(line)):
            yield number, word


def shared_sources(root: Path) -> list[Path]:
    files = [file for name in SHARED for file in sorted((root / "packages" / name / "src").rglob("*"))]
    return [file for file in files if file.suffix in {".py", *DATA}]


def test_shared_sources_name_no_target(root: Path) -> None:
    found = [
        f"{file.relative_to(root)}:{line}: {word}"
        for file in shared_sources(root)
        if file.relative_to(root / "packages").as_posix() not in ALLOWED
        for line, word in (findings if file.suffix == ".py" else data_findings)(file.read_text("utf-8"))
    ]
    assert not found, "target words in shared packages; move them to the concrete driver:\n" + "\n".join(found)


def test_shared_files_are_not_named_after_a_target(root: Path) -> None:
    named = [str(file) for file in shared_sources(root) if target_words(file.relative_to(root / "packages").as_posix())]
    assert not named


@pytest.mark.parametrize(
    "line",
    [
        "cl_mem = 1",
        "clGetDeviceIDs()",
        "cuMemAlloc(n)",
        "device_cu = 0",
        "cudaMalloc = None",
        "PyOpenCL = None",
        "class OpenClPort: ...",
        "class OpenCLPort: ...",
        "class CuPyArray: ...",
        "x = 1  # as PTX does",
        "x = 'one warp'",
        'x = f"{n} warps"',
        '"""On PoCL this is slow."""',
        "x = '__kernel void'",
        "x = '__global__'",
        "x = 'get_global_id(0)'",
        "x = 'threadIdx.x'",
        "arch = 'sm_90'",
        "enqueueNDRange()",
        "NvrtcError = 1",
    ],
)
def test_a_target_word_is_found(line: str) -> None:
    assert list(findings(line))


@pytest.mark.parametrize(
    "line",
    [
        "current = accumulate(focus, clamp(x))",
        "class Cluster(Closed): ...",
        "cls = circuit.clear()",
        "global_id = local_id(axis=0)",
        "def __local_names(self): ...",
        "x = 'the kernel of the workgroup, its subgroup and its shared memory'",
        "relationship = chip  # metallic, warped",
        'x = f"{excuse} {clock}"',
    ],
)
def test_an_ordinary_word_is_not(line: str) -> None:
    assert not list(findings(line))

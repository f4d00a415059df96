"""Inside an environment that holds one layer: import all of it, load its entry points, count the family.

python walk.py DISTRIBUTION FAMILY...
"""

import importlib
import pkgutil
import sys
from importlib import metadata

# A submodule may wait for an extra of its own distribution, and for nothing else: import name -> extra.
EXTRAS = {
    "PIL": "demo", "gmpy2": "oracle", "hypothesis": "testing", "mpmath": "oracle", "opentelemetry": "otel",
    "prometheus_client": "prometheus", "pytest": "pytest",
}  # fmt: skip


def main(name: str, family: set[str]) -> int:
    installed = {dist.name.lower() for dist in metadata.distributions()}
    strangers = {dist for dist in installed if dist == "vyre" or dist.startswith("vyre-")} ^ family
    assert not strangers, f"the family beside {name} is not what its metadata asks for: {strangers}"

    dist = metadata.distribution(name)
    package = name.replace("-", "_")
    offered = set(dist.metadata.get_all("Provides-Extra") or [])
    modules = [package, *sorted(walk(package))]
    waiting = [module for module in modules if waits(module, offered)]
    for point in dist.entry_points:
        assert point.load() is not None, f"entry point {point.name} of {name} leads to nothing"
    print(
        f"{name} stands alone: {len(modules)} modules, {len(dist.entry_points)} entry points, "
        f"waiting for an extra: {', '.join(waiting) or 'none'}"
    )
    return 0


def walk(package: str) -> list[str]:
    """Names of all submodules, found without importing any but the packages among them."""
    found: list[str] = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if module.name.endswith(".__main__"):
            continue
        found.append(module.name)
        if module.ispkg and not waits(module.name, set(EXTRAS.values())):
            found += walk(module.name)
    return found


def waits(module: str, offered: set[str]) -> bool:
    """Import a module; true when it needs an extra that the distribution offers."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if EXTRAS.get((missing.name or "").partition(".")[0]) not in offered:
            raise
        return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], set(sys.argv[2:])))

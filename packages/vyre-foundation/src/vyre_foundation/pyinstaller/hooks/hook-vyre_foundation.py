"""Collects every installed distribution of this project: metadata with entry points, files, and modules."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules, copy_metadata

from vyre_foundation.pyinstaller import installed


def _is_used(module: str) -> bool:
    return "testing" not in module.split(".")


datas: list[tuple[str, str]] = []
hiddenimports: list[str] = []
for _name, _packages in installed():
    datas += copy_metadata(_name)
    for _package in _packages:
        datas += collect_data_files(_package)
        hiddenimports += collect_submodules(_package, filter=_is_used)

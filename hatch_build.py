"""What a wheel has besides the source: compiled kernels, where whoever builds it has some.

``make wheel`` has them compiled and names their folder in ``SHOAL_KERNELS``. Without that the wheel is for
every platform, and compiles what it needs. The source package never has them.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Puts compiled kernels into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add a folder of kernels, and say for which Python and platform they are."""
        named = os.environ.get("SHOAL_KERNELS")
        if version == "editable" or not named:
            return
        kernels = sorted(Path(named).glob("*.kernel"))
        if not kernels:
            raise ValueError(f"there are no kernels in {named}: run 'shoal cache warm' first")
        for kernel in kernels:
            place = f"shoal/kernels/ready/{kernel.parent.name}/{kernel.name}"
            build_data["force_include"][str(kernel)] = place
        build_data["pure_python"] = False
        build_data["tag"] = kernel_tag()


def kernel_tag() -> str:
    """Kernels run where the compiler runs that made them: they have the platforms of its own wheel."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platforms = re.findall(r"^Tag: .+-(.+)$", distribution("llvmlite").read_text("WHEEL") or "", re.MULTILINE)
    if not platforms:
        raise ValueError("llvmlite was not installed from a wheel, so the platform of its code is unknown")
    return f"{python}-{python}-{'.'.join(dict.fromkeys(platforms))}"

"""The options of numba by which kernels are compiled."""

from __future__ import annotations

from typing import Any, cast

# Kernels touch no Python objects, so they need not hold the lock of the interpreter.
ENTRY = {"nogil": True}
# Wrappers are for calls from Python and C, and take about half of the time to compile.
MAKER = {**ENTRY, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Whoever calls it keeps the arrays alive: counting references to each of them, at every call, would take a
# quarter of the time. It may neither make an array nor return one.
INNER = {**MAKER, "_nrt": False}
INLINE = {**INNER, "forceinline": True}


def compile_once_per_type(dispatcher: Any) -> None:
    """Compile a kernel that is called with ``0`` here and with a variable there once, not twice.

    To numba every plain number is a type of its own, and so all that a kernel hands it to would be compiled
    again for each of them.
    """
    from numba.core import types  # noqa: PLC0415

    find_template = dispatcher.get_call_template

    def find_plain_template(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return find_template(tuple(cast("Any", types.unliteral)(each) for each in arguments), named)

    dispatcher.get_call_template = find_plain_template

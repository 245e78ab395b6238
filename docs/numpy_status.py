"""Writes numpy.md: what becomes of each public name of NumPy. Run as ``python -m docs.numpy_status`` (make docs-numpy).

Which names exist and which parameters they lack or add is looked up; the tables below say the rest.
"""

from __future__ import annotations

import inspect
import pathlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

import arrax.numpy as jnp

PAGE = pathlib.Path(__file__).parent / "numpy.md"
NAMESPACES = {"numpy": (np, jnp), "numpy.linalg": (np.linalg, jnp.linalg), "numpy.fft": (np.fft, jnp.fft)}

# fmt: off
REASONS = {  # why names are out of scope
    "it writes into an existing array, and arrays never change: `x.at[...]` gives a changed copy":
        "copyto putmask",
    "about memory order and subclasses, of which arrays here have neither":
        "asanyarray ascontiguousarray asfortranarray isfortran require may_share_memory shares_memory memmap",
    "a check of values that raises, which compiled programs cannot": "asarray_chkfinite",
    "its dtype depends on values": "min_scalar_type real_if_close",
    "dates and times are no types of accelerators":
        "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat timedelta64",
    "text, bytes and records are no types of accelerators": "bytes_ str_ void recarray record typecodes typename mintypecode sctypeDict",
    "text for people: NumPy's takes `np.asarray(x)`":
        "array2string base_repr binary_repr format_float_positional format_float_scientific info",
    "text files: read or write them with NumPy": "fromregex genfromtxt loadtxt savetxt savez_compressed",
    "a C type whose width depends on the platform: use `int32`, `float64` and so on":
        "byte half intc intp long longlong short ubyte uintc uintp ulong ulonglong ushort",
    "no accelerator has such a type": "clongdouble complex256 float128 longdouble float96 complex192",
    "iterates element by element: use `vmap`, `lax.scan` or NumPy":
        "broadcast flatiter ndenumerate ndindex nditer nested_iters",
    "superseded in NumPy itself": "asmatrix bmat matrix poly1d row_stack in1d trapz common_type",
    "floating-point errors give NaN or infinity and no warning; `arrax.debug_nans` finds the first NaN":
        "errstate geterr geterrcall seterr seterrcall LinAlgError",
    "about NumPy's own buffers, build and tests": "getbufsize setbufsize get_include show_config show_runtime test little_endian",
    "Python's own, or a list of NumPy's types": "False_ True_ ScalarType",
}
DIFFERENCES = {  # what a table of parameters doesn't show
    "angle": "integers give the default floating type",
    "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize": "the function is traced, so it must be pure",
    "array asarray": "64-bit types need x64; lists of arrays are joined by a program",
    "argsort sort": "always stable; `kind` and `order` are refused",
    "argpartition partition": "the parts are sorted where that is faster",
    "choose take": "indices out of bounds give NaN or the mode's choice, never an error",
    "conj conjugate square": "bools stay bools",
    "convolve correlate polydiv polymul": "integers give floating numbers",
    "corrcoef cov polyder polyint polyval vander": "the dtype is not widened to 64 bits",
    "cumprod cumsum nancumprod nancumsum": "small integers are not widened",
    "divide divmod floor_divide mod remainder": "integers divided by zero and floats by infinity are as XLA and the array API standard say",
    "empty empty_like": "the elements are zeros",
    "fill_diagonal place put put_along_axis": "with `inplace=False` only: the changed copy is returned",
    "float_power": "computes in the common floating type, not in 64 bits",
    "fromfile fromiter": "runs on the host, outside traces",
    "histogram2d histogramdd": "counts are integers where no weights are given",
    "argwhere compress extract flatnonzero intersect1d nonzero setdiff1d setxor1d union1d unique unique_all unique_counts "
    "unique_inverse unique_values": "the shape depends on values: inside a trace only where `size` says it",
    "linalg.cholesky linalg.inv linalg.solve": "singular or indefinite matrices give NaN, not an error",
    "load save savez": "NumPy's, for arrays of here",
    "nanpercentile nanquantile percentile quantile": "axes of a matrix of ranks always come first",
    "polyfit": "the rank is not warned about",
    "ravel_multi_index": "indices keep their dtype; `mode='raise'` only outside a trace",
    "trim_zeros": "not inside a trace: the shape depends on values",
    "unravel_index": "indices keep their dtype, and out of bounds they are clipped",
    "roots": "inside a trace only with `strip_zeros=False`",
    "select where": "all branches are computed",
    "sort_complex": "32-bit floats give 64-bit complex numbers",
    "interp searchsorted": "places are not checked to be sorted",
    "resize": "the shape must be known",
}
# fmt: on
_MISSING = object()
QUIET = {"like", "subok", "out", "casting", "out_sharding"}  # said of all functions at once
RENAMED = {"subscripts", "start", "start_or_stop", "arr", "einsum_call"}  # only by position
TEXT = """# NumPy's functions

Every public name of NumPy {version} and what becomes of it in `arrax.numpy`. This page is written by
`make docs-numpy` and checked by a test.

What holds everywhere: arrays never change, so `out` must be None; `like`, `subok` and `casting` don't exist; universal
functions take no `where`, `dtype` or `order`; functions that make arrays take `out_sharding`; lists and tuples are refused where an array is meant (convert them with
`asarray`); dtypes have 32 bits unless x64 is on, mix by the rules of weak types, and floats computed from
integers have as many bits as the integers, at least 32; indices out of bounds are clamped on reading and dropped on writing.

| | {counts_head} |
|---|{counts_line} |
| available | {there} |
| available, differs | {different} |
| out of scope | {out} |
"""


def _spread(table: dict[str, str], names_first: bool) -> dict[str, str]:
    pairs = table.items() if names_first else ((names, text) for text, names in table.items())
    return {name: text for names, text in pairs for name in names.split()}


OUT_OF_SCOPE, NOTES = _spread(REASONS, False), _spread(DIFFERENCES, True)


def names(module: ModuleType) -> list[str]:
    """The public names of a module of NumPy, submodules apart."""
    listed = (name for name in module.__all__ if not name.startswith("__"))
    return sorted(name for name in listed if not isinstance(getattr(module, name), ModuleType))


def _parameters(function: Callable[..., Any]) -> list[str] | None:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def _by_parameters(theirs: Any, ours: Any) -> Iterator[str]:
    """What two signatures say about the difference."""
    if isinstance(theirs, (np.ufunc, type)):
        return
    wanted, own = _parameters(theirs), _parameters(ours)
    if wanted is None or own is None:
        return
    silent = QUIET | RENAMED
    lacking = [name for name in wanted if name not in own and name not in silent]
    more = [name for name in own if name not in wanted and name not in silent and not name.startswith("_")]
    if len(lacking) > 1 and not any(name in own for name in wanted):
        return  # arguments are handed on, or have other names
    if lacking and len(lacking) == len(more) == 1 and len(wanted) == len(own):
        yield f"`{lacking[0]}` is called `{more[0]}`"
        return
    if lacking:
        yield f"no {', '.join(f'`{name}`' for name in lacking)}"
    if more:
        yield f"also takes {', '.join(f'`{name}`' for name in more)}"


def status(prefix: str, name: str, theirs: Any, ours: Any) -> tuple[str, str]:
    """The status of a name and a note.

    Raises:
      LookupError: a name that is neither here nor in the table of reasons, or is in both.
    """
    if ours is _MISSING or name in OUT_OF_SCOPE:
        if ours is not _MISSING or name not in OUT_OF_SCOPE:
            raise LookupError(
                f"{prefix}{name}: say in docs/numpy_status.py why it is out of scope, or take it out there."
            )
        return "out of scope", OUT_OF_SCOPE[name]
    notes = [NOTES[key] for key in (prefix + name,) if key in NOTES]
    found = list(_by_parameters(theirs, ours))
    differs = bool(notes) or any(not text.startswith("also") for text in found)
    return ("available, differs" if differs else "available"), "; ".join([*notes, *found])


def rows(namespace: str) -> list[tuple[str, str, str]]:
    """Name, status and note of each name of a namespace."""
    theirs, ours = NAMESPACES[namespace]
    prefix = namespace.removeprefix("numpy").removeprefix(".") + "." if namespace != "numpy" else ""
    return [
        (name, *status(prefix, name, getattr(theirs, name), getattr(ours, name, _MISSING)))
        for name in names(theirs)
    ]  # fmt: skip


def version() -> str:
    """NumPy's version without the patch level: the names are those of the minor version."""
    return ".".join(np.__version__.split(".")[:2])


def page() -> str:
    """The page."""
    tables = {namespace: rows(namespace) for namespace in NAMESPACES}

    def count(wanted: str) -> str:
        return " | ".join(str(sum(found == wanted for _, found, _ in table)) for table in tables.values())

    parts = [TEXT.format(
        version=version(), counts_head=" | ".join(tables), counts_line="|".join("--:" for _ in tables), there=count("available"),
        different=count("available, differs"), out=count("out of scope"),
    )]  # fmt: skip
    for namespace, table in tables.items():
        lines = [f"| `{name}` | {found} | {note} |" for name, found, note in table]
        parts.append("\n".join([f"## {namespace}", "", "| name | status | note |", "|---|---|---|", *lines, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())

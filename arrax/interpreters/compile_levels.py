"""Which of the compiler's settings a program is worth: quick to compile, or quicker to run (see ``compilation.LEVELS``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from arrax.core.program import Jaxpr, JaxprEqn, Var, open_jaxpr, subprograms
from arrax.core.types import ShapedArray
from arrax.interpreters.work import repeated_equations, size_of
from arrax.xla import compilation

_MANY_PRODUCTS = 6
_LARGE = 1 << 16  # elements above which running counts for more than compiling
_LEAST_CARRIED, _MUCH_CARRIED = 1 << 9, 1 << 17  # elements of an array that a loop carries; those of all turns
_SHORT, _LONG = 32, 256  # elements of an axis
_TURNS = 128  # of a loop whose number of turns is not known
_INLINED = frozenset({"pjit", "remat2", "custom_jvp_call", "custom_vjp_call"})
_SCATTERS = ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
_COSTLY = frozenset({"exp", "exp2", "log", "tanh", "logistic", "erf", "pow", "sin", "cos"})

# Their last bits are others in code compiled at the lowest level. A function gives the same bits however it is called.
_DEPENDING = frozenset({"tanh", "rsqrt", "log1p", "erf_inv"})


def choose_level(jaxpr: Jaxpr, eager: bool, donated: Sequence[ShapedArray] = ()) -> str:
    """The settings for a program, by name.

    Args:
      eager: whether it is one operation that was called outside of compiled functions.
      donated: types of the inputs that results may be put in the place of.
    """
    if eager:
        avals = [var.aval for var in jaxpr.invars] + [atom.aval for atom in jaxpr.outvars]
        small = sum(map(size_of, avals)) <= compilation.EAGER_ELEMENTS
        if small and not _depends_on_level(jaxpr):
            return "eager"
    bodies = list(_bodies(jaxpr))
    if _any_gains(bodies, _GAINS_MOST):
        return "best"
    products = sum(eqn.primitive.name == "dot_general" for body in bodies for eqn in body.eqns)
    in_place = any(size_of(aval) >= _LARGE for aval in donated) or _updates_in_place(jaxpr)
    gains = in_place or products >= _MANY_PRODUCTS or _any_gains(bodies, _GAINS) or any(map(_recomputes, bodies))
    return "fused" if gains else "jit"


def _updates_in_place(jaxpr: Jaxpr) -> bool:
    """Whether loops carry arrays that are worth it: code without the emitters has no vectors where it writes what it reads."""
    for eqn, times in repeated_equations(jaxpr, unknown=_TURNS):
        if eqn.primitive.name not in ("scan", "while"):
            continue
        scans = eqn.primitive.name == "scan"
        turns, count = (eqn.params["length"], eqn.params["num_carry"]) if scans else (_TURNS, len(eqn.outvars))
        carried = max((size_of(var.aval) for var in eqn.outvars[:count]), default=0)
        if carried >= _LEAST_CARRIED and carried * times * turns >= _MUCH_CARRIED:
            return True
    return False


def _bodies(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """A program and those that it calls once: not those of loops."""
    yield jaxpr
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _INLINED:
            for inner in subprograms(eqn.params):
                yield from _bodies(open_jaxpr(inner))


# Whether an operation runs faster by more than it takes longer to compile (all measured on jaxlib 0.10.2).
Gains = Mapping[str, Callable[[JaxprEqn], bool]]


def _any_gains(bodies: Sequence[Jaxpr], gains: Gains) -> bool:
    return any(gains[eqn.primitive.name](eqn) for body in bodies for eqn in body.eqns if eqn.primitive.name in gains)


def _is_large_convolution(eqn: JaxprEqn) -> bool:
    return size_of(eqn.outvars[0].aval) >= _LARGE


def _scatters_elements(eqn: JaxprEqn) -> bool:
    """Many single elements: half the time. (Rows take twice as long.)"""
    return not eqn.params["dimension_numbers"].update_window_dims and size_of(eqn.invars[-1].aval) >= _LARGE


def _combines_by_a_program(eqn: JaxprEqn) -> bool:
    return size_of(eqn.invars[0].aval) >= _LARGE


def _multiplies_integers(eqn: JaxprEqn) -> bool:
    """Products of short integers, which are converted on the way."""
    x = eqn.invars[0].aval
    return x.dtype != eqn.outvars[0].aval.dtype and x.dtype.kind in "iu" and size_of(x) >= _LARGE


def _adds_integers(eqn: JaxprEqn) -> bool:
    """Sums of integers, counts too, but for those over all of an array: only the highest level makes vectors of their loops."""
    x, out = eqn.invars[0].aval, eqn.outvars[0].aval
    return x.dtype.kind in "iu" and size_of(x) >= _LARGE and size_of(out) >= _SHORT


def _multiplies_columns(eqn: JaxprEqn) -> bool:
    x = eqn.invars[0].aval
    return size_of(x) >= _LARGE and x.ndim - 1 not in eqn.params["axes"]


def _joins(eqn: JaxprEqn) -> bool:
    """Parts side by side: else each element is looked up in all of them. (Along an only or a short last axis that is quicker.)"""
    out = eqn.outvars[0].aval
    if size_of(out) < _LARGE:
        return False
    last = eqn.primitive.name == "concatenate" and eqn.params["dimension"] == out.ndim - 1
    return not last or (out.ndim > 1 and out.shape[-1] >= _SHORT)


def _is_costly_along_short_axes(eqn: JaxprEqn) -> bool:
    """A costly function of each element: without the emitters, loops over three short axes and more have no vectors."""
    out = eqn.outvars[0].aval
    return out.ndim > 2 and out.shape[-1] < _SHORT and size_of(out) >= _LARGE


# From the fusion emitters.
_GAINS: Gains = {
    "conv_general_dilated": _is_large_convolution, "reduce": _combines_by_a_program, "dot_general": _multiplies_integers,
    "concatenate": _joins, "pad": _joins,
    **dict.fromkeys(_SCATTERS, _scatters_elements), **dict.fromkeys(_COSTLY, _is_costly_along_short_axes),
}  # fmt: skip


# From the highest level besides.
_GAINS_MOST: Gains = {"reduce_sum": _adds_integers, "reduce_prod": _multiplies_columns}


def _recomputes(body: Jaxpr) -> bool:
    """Whether there is a costly array that a sum and something else need: without the emitters each computes it anew.

    Over short axes, the emitters' loops have no vectors.
    """
    costly = {
        out
        for out in (eqn.outvars[0] for eqn in body.eqns if eqn.primitive.name in _COSTLY)
        if size_of(out.aval) >= _LARGE and out.aval.shape[-1] >= _LONG
    }
    if not costly:
        return False
    uses = Counter(var for eqn in body.eqns for var in eqn.invars if isinstance(var, Var))
    sums = (eqn.invars[0] for eqn in body.eqns if eqn.primitive.name == "reduce_sum")
    return any(isinstance(var, Var) and var in costly and uses[var] > 1 for var in sums)


def _depends_on_level(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.primitive.name in _DEPENDING
        or any(_depends_on_level(open_jaxpr(inner)) for inner in subprograms(eqn.params))
        for eqn in jaxpr.eqns
    )

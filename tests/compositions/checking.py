"""A random program is checked against itself: every way of running and differentiating it must tell the same."""

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.xla.compilation import QUICK_SETTINGS
from tests.compositions.programs import N, parts, run, uses_reverse_rules

TOLERANCE = {"float64": 1e-7, "float32": 5e-3, "float16": 0.15, "bfloat16": 0.4}
STEP = 1e-6


def point(dtype):
    numbers = np.random.default_rng(7)
    return [
        jnp.asarray(numbers.normal(size=shape), dtype) for shape in ((N,), (N, N), (N,), (N, N), (N,), (2, N), (N,))
    ]


def results(program, arrays):
    """Pairs of what must be equal, by name."""
    x, w, tx, tw, ct, rows, other = arrays
    f = lambda x, w: jnp.tanh(run(program, [x], [w]))  # noqa: E731
    total = lambda x, w: (f(x, w) * ct).sum()  # noqa: E731
    y, pull = arrax.vjp(f, x, w)
    gx, gw = pull(ct)
    found = {
        "jit inside": (arrax.jit(f)(x, w), y),
        "checkpoint": (arrax.grad(arrax.checkpoint(total))(x, w), gx),
        "checkpoint saving products": (
            arrax.grad(arrax.checkpoint(total, policy=arrax.checkpoint_policies.dots_saveable), 1)(x, w), gw
        ),
        "grad of jit": (arrax.grad(arrax.jit(total))(x, w), gx),
        "vmap": (arrax.vmap(f, (0, None))(rows, w), jnp.stack([f(row, w) for row in rows])),
        "grad of vmap": (
            arrax.grad(lambda rows: (arrax.vmap(f, (0, None))(rows, w) * ct).sum())(rows),
            jnp.stack([arrax.grad(total)(row, w) for row in rows]),
        ),
        "vmap of grad": (
            arrax.vmap(arrax.grad(total, 1), (0, None))(rows, w), jnp.stack([arrax.grad(total, 1)(row, w) for row in rows])
        ),
        "scan": (
            lax.scan(lambda c, row: (c, f(row, c)), w, rows)[1], jnp.stack([f(row, w) for row in rows])
        ),
    }  # fmt: skip
    if not uses_reverse_rules(program):
        value, tangent = arrax.jvp(f, (x, w), (tx, tw))
        linear = arrax.linearize(f, x, w)[1]
        twice = lambda u: arrax.jvp(arrax.grad(total), (x, w), (u, jnp.zeros_like(w)))[1]  # noqa: E731
        found |= {
            "value of jvp": (value, y),
            "linearize": (linear(tx, tw), tangent),
            "transpose": ((tangent * ct).sum(), (gx * tx).sum() + (gw * tw).sum()),
            "vmap of jvp": (arrax.vmap(lambda t: arrax.jvp(f, (x, w), (t, tw))[1])(jnp.stack([tx, tx]))[1], tangent),
            "symmetry": ((twice(tx) * other).sum(), (twice(other) * tx).sum()),
        }
        if x.dtype == np.float64:
            h = STEP
            found["differences"] = (tangent, (f(x + h * tx, w + h * tw) - f(x - h * tx, w - h * tw)) / (2 * h))
    return y, gx, found


def fault(program, dtype, quickly=True):
    """How ways of running a program disagree; None where they agree."""
    with arrax.enable_x64(dtype == "float64"):
        arrays = point(dtype)
        options = QUICK_SETTINGS if quickly else None
        try:
            y, gx, pairs = arrax.jit(lambda arrays: results(program, arrays), compiler_options=options)(arrays)
            pairs["eager"] = (jnp.tanh(run(program, [arrays[0]], [arrays[1]])), y)
            eager = arrax.grad(lambda x: (jnp.tanh(run(program, [x], [arrays[1]])) * arrays[4]).sum())(arrays[0])
            pairs["eager grad"] = (eager, gx)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        for name, (found, wanted) in pairs.items():
            said = _difference(np.asarray(found), np.asarray(wanted), dtype, name)
            if said:
                return f"{name}: {said}"
    return None


def _difference(found, wanted, dtype, name):
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    if not np.isfinite(wanted).all():
        return None if np.isnan(wanted).any() or np.array_equal(found, wanted) else "infinities"
    size = max(1.0, float(np.abs(wanted).max()))
    tolerance = TOLERANCE[dtype] * (1000 if name == "differences" else 1)
    worst = float(np.abs(found - wanted).max())
    return None if worst <= tolerance * size else f"{found.tolist()}, not {wanted.tolist()}"


def shrunk(program, dtype):
    """A simpler program with a fault, of which no part has one."""
    while True:
        for simpler in parts(program):
            if simpler and fault(simpler, dtype):
                program = simpler
                break
        else:
            return program

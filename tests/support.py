"""The assertions that tests share: values against NumPy's, derivatives against differences, batches against loops."""

import ast
import inspect
import os
import subprocess
import sys

import ml_dtypes
import numpy as np

import arrax
from arrax.core.pytrees import tree_flatten, tree_map
from arrax.core.tracebacks import bounded
from arrax.xla.compilation import QUICK_SETTINGS

bfloat16 = np.dtype(ml_dtypes.bfloat16)
FLOATING = [bfloat16, np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]
INTEGERS = [np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.int64)]

# Words of what lies below the package: its messages to users have none of them.
FOREIGN = (
    "INVALID_ARGUMENT",
    "INTERNAL",
    "MLIR",
    "stablehlo",
    "incompatible function arguments",
    "object has no attribute",
)


def run_python(code, *options, **environment):
    """The finished process of a program in an interpreter of its own, with some environment variables set."""
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, *options, "-c", code], env=env, capture_output=True, text=True, timeout=120)


def quick_jit(f):
    """``f`` as one program that is compiled with little optimization: for tests of what rules say, of which each is called once."""
    return arrax.jit(lambda *arguments: f(*arguments), compiler_options=QUICK_SETTINGS)


def is_wide(dtype):
    """Whether a dtype exists only with x64 on."""
    return np.dtype(dtype).name in ("float64", "complex128", "int64", "uint64")


def x64_for(*dtypes):
    """Context manager: 64-bit types where one of the dtypes needs them."""
    return arrax.enable_x64(any(is_wide(dtype) for dtype in dtypes))


def precision(dtype):
    """The relative spacing of numbers of a dtype; 0 for integers."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return 0.0
    return float(ml_dtypes.finfo(dtype if dtype.kind != "c" else np.dtype(f"f{dtype.itemsize // 2}")).eps)


def wide(value):
    """A value as float64 or complex128, or an integer type as it is."""
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def samples(domains, dtype, shape=(8,), seed=0):
    """One random array per domain ``(low, high)``; complex ones have imaginary parts of size up to 1."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    arrays = []
    for low, high in domains:
        array = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            array = array + 1j * rng.uniform(-1, 1, shape)
        if dtype.kind in "iu":
            array = rng.integers(low, high, shape, endpoint=True)
        arrays.append(array.astype(dtype))
    return arrays


def assert_matches_numpy(operation, reference, arguments, ulps=4, dtype=None):
    """The operation's values are those of a NumPy function of the arguments in double precision, rounded.

    Args:
      ulps: allowed relative error, in units of the result's precision.
      dtype: the result's expected dtype; that of the first argument if not given.
    """
    arguments = [np.asarray(argument) for argument in arguments]
    with x64_for(*(argument.dtype for argument in arguments)):
        result = operation(*arguments)
        expected_dtype = np.dtype(arguments[0].dtype if dtype is None else dtype)
        assert result.dtype == expected_dtype
        with np.errstate(all="ignore"):
            expected = np.asarray(reference(*map(wide, arguments)))
        assert result.shape == expected.shape
        tolerance = ulps * precision(expected_dtype)
        np.testing.assert_allclose(wide(result), expected, rtol=tolerance, atol=tolerance / 4)


def check_gradients(f, arguments, order=1, modes=("jvp", "vjp"), rtol=1e-5, atol=1e-7, seed=0):
    """Derivatives of ``f`` in random directions agree with differences, in double precision.

    Args:
      arguments: floating arrays (or pytrees of them); they are converted to float64.
      order: 1, or 2, which checks the derivatives of the derivatives, too.
      modes: ``"jvp"``, ``"vjp"`` or both.
    """
    with arrax.enable_x64(True):
        _check_gradients(f, tuple(tree_map(lambda x: np.asarray(x, np.float64), a) for a in arguments), order, modes,
                         rtol, atol, np.random.default_rng(seed))  # fmt: skip


def _check_gradients(f, arguments, order, modes, rtol, atol, rng):
    def draw(tree):
        return tree_map(lambda x: rng.standard_normal(np.shape(x)), tree)

    def slopes(parts, arguments, directions, weights):
        """For each of some functions, the derivative in a direction and the gradient of its weighted results."""
        tangents, pulled = [], []
        for part, weight in zip(parts, weights, strict=True):
            if "jvp" in modes:
                tangents.append(arrax.jvp(part, arguments, directions)[1])
            if "vjp" in modes:
                pulled.append(arrax.vjp(part, *arguments)[1](weight))
        return tangents, pulled

    parts = [f]
    if order > 1:
        along, weighting = draw(arguments), draw(arrax.eval_shape(f, *arguments))
        if "jvp" in modes:
            parts.append(lambda *xs: arrax.jvp(f, xs, along)[1])
        if "vjp" in modes:
            parts.append(lambda *xs: arrax.vjp(f, *xs)[1](weighting))
    values, directions = quick_jit(lambda *xs: [part(*xs) for part in parts]), draw(arguments)
    weights, expected = draw(values(*arguments)), _difference(values, arguments, directions)
    tangents, pulled = quick_jit(lambda *given: slopes(parts, *given))(arguments, directions, weights)
    if "jvp" in modes:
        for actual, wanted in zip(tree_flatten(tangents)[0], tree_flatten(expected)[0], strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol)
    if "vjp" in modes:
        for back, weight, wanted in zip(pulled, weights, expected, strict=True):
            np.testing.assert_allclose(_dot(back, directions), _dot(weight, wanted), rtol=rtol, atol=atol * 10)


def _dot(first, second):
    pairs = zip(tree_flatten(first)[0], tree_flatten(second)[0], strict=True)
    return sum(float(np.sum(np.asarray(x) * np.asarray(y))) for x, y in pairs)


def _difference(f, arguments, directions, step=2e-4):
    """The derivative in a direction by a formula of fourth order."""

    def at(factor):
        moved = tree_map(lambda x, d: x + factor * step * d, arguments, directions)
        return tree_map(np.asarray, f(*moved))

    return tree_map(lambda a, b, c, d: (8 * (b - c) - (a - d)) / (12 * step), at(2), at(1), at(-1), at(-2))


def check_batching(f, arguments, rtol=1e-6, atol=1e-6):
    """``vmap`` of ``f`` agrees with a loop: all arguments mapped along the first axis, along the last, and each alone.

    Args:
      arguments: arrays without the batch axis; each example is the argument with its elements in another order.
    """
    size = 3
    rng = np.random.default_rng(0)
    batches = [np.stack([rng.permutation(np.ravel(x)).reshape(np.shape(x)) for _ in range(size)]) for x in arguments]
    count, one = len(batches), quick_jit(f)
    plans = [(0,) * count, (-1,) * count]
    plans += [tuple(0 if i == j else None for i in range(count)) for j in range(count)] if count > 1 else []
    for axes in plans:
        examples = [
            [x if axis is None else batch[i] for x, batch, axis in zip(arguments, batches, axes, strict=True)]
            for i in range(size)
        ]
        mapped = [
            np.asarray(x) if axis is None else np.moveaxis(batch, 0, axis)
            for x, batch, axis in zip(arguments, batches, axes, strict=True)
        ]
        outs = tree_flatten(quick_jit(arrax.vmap(f, in_axes=axes))(*mapped))[0]
        loop = [tree_flatten(one(*example))[0] for example in examples]
        for place, out in enumerate(outs):
            expected = np.stack([wide(result[place]) for result in loop])
            np.testing.assert_allclose(wide(out), expected, rtol=rtol, atol=atol)


def operations_of(module):
    """The public operations that a module of ``arrax.lax`` defines, as users see them: its top-level names that have a primitive."""
    names = set()
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.FunctionDef):
            names.add(statement.name)
        if isinstance(statement, ast.Assign):
            names.update(target.id for target in statement.targets if isinstance(target, ast.Name))
    found = (getattr(module, name) for name in names if not name.startswith("_"))
    return {bounded(value) for value in found if hasattr(value, "primitive")}

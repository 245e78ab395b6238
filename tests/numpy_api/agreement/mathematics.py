"""Random expressions of statistics, products, linear algebra, transforms, polynomials, windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import arrax.numpy as jnp
from tests.numpy_api.agreement.expressions import COMPLEX, INTEGERS, Draw, Expression, call, listed

WIDE = ("float32", "float64")


def order_statistic(draw: Draw) -> Expression:
    name = draw.pick(["median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"])
    array = draw.array((*INTEGERS, *WIDE), draw.shape(1, empty=0))
    options = {"axis": draw.axes(array.ndim), "keepdims": draw.chance()}
    if "median" in name:
        return call(name, [draw.special(array)], **options)
    array = array.astype(draw.dtype(WIDE))
    method = draw.pick(["linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased"])
    exact = method in ("lower", "higher", "nearest")  # no place between two elements that rounding could move
    ranks = np.asarray(
        draw.pick([0.27, [0.27, 0.61], [[0.13], [0.83]]] if exact else [0.3, [0.0, 0.5, 1], [[0.1], [0.9]]])
    )
    ranks = (ranks * (100 if "percentile" in name else 1)).astype(array.dtype)
    if name.startswith("nan") and ranks.ndim > 1:
        ranks = ranks[:, 0]  # NumPy puts the axes of a matrix of ranks elsewhere in these
    return replace(call(name, [array, ranks], method=method, **options), fixed=(1,), looseness=20)


def statistic(draw: Draw) -> Expression:
    name = draw.pick(
        "average cov corrcoef bincount digitize histogram histogram2d searchsorted trapezoid interp".split()
    )
    array = draw.array((*INTEGERS, *WIDE), draw.shape(1, empty=0))
    if name == "average":
        axis, weights = draw.pick([None, draw.axis(array.ndim)]), draw.array(["float32"], array.shape, 1, 4)
        return listed(
            f"average axis={axis}", lambda xp, xs: xp.average(xs[0], axis=axis, weights=xs[1]), [array, weights]
        )
    if name in ("cov", "corrcoef"):
        table = draw.array(WIDE, (draw.integer(2, 3), draw.integer(3, 5)))
        options = {"ddof": draw.pick([None, 0, 1])} if name == "cov" else {}
        return replace(call(name, [table], rowvar=draw.chance(), **options), dtype=table.dtype, looseness=20)
    if name == "bincount":
        return replace(call(name, [draw.array(["int32", "uint8"], (6,), 0, 5)], minlength=5), traceable=False)
    if name == "digitize":
        return replace(call(name, [array, np.sort(draw.array(["float32"], (4,)))], right=draw.chance()), fixed=(1,))
    if name == "searchsorted":
        edges = np.sort(draw.array(["float32"], (draw.integer(0, 5),)))
        return replace(call(name, [edges, array.astype("float32")], side=draw.pick(["left", "right"])), fixed=(0,))
    if name == "histogram":
        options = {"bins": draw.integer(1, 5), "range": draw.pick([None, (-2.1, 5.3)]), "density": draw.chance(0.3)}
        expression = call(name, [array.astype(draw.dtype(["float64"]))], **options)
        return replace(expression, dtype=draw.dtype(["float64"]))
    if name == "histogram2d":
        pair = [draw.array(["float32"], (7,)), draw.array(["float32"], (7,))]
        expression = call(name, pair, bins=(2, 3), range=((-3.1, 3.2), (-2.6, 5.7)))
        return replace(expression, dtype=(draw.dtype(["int64"]), "float32", "float32"))
    if name == "interp":
        points = np.cumsum(draw.array(["float32"], (4,), 1, 3), dtype=np.float32)
        options = draw.pick([{}, {"left": -1.0}, {"left": 0.5, "right": 2.0}])
        expression = call(name, [draw.array(["float32"]), points, draw.array(["float32"], (4,))], **options)
        return replace(expression, fixed=(1,), dtype="float32")
    return call(name, [array.astype(draw.dtype(WIDE))], axis=draw.axis(array.ndim))


def product(draw: Draw) -> Expression:
    n, m, k = (draw.integer(1, 3) for _ in range(3))
    name, shapes = draw.pick([
        ("dot", draw.pick([((n, m), (m, k)), ((m,), (m,)), ((2, n, m), (m,)), ((n, m), (2, m, k)), ((), (n,))])),
        ("matmul", draw.pick([((n, m), (m, k)), ((m,), (m, k)), ((2, n, m), (1, m, k)), ((n, 0), (0, k))])),
        ("vdot", ((n, m), (n, m))), ("inner", draw.pick([((n, m), (k, m)), ((m,), (m,))])), ("outer", ((n, m), (k,))),
        ("tensordot", ((n, m, k), (m, k, 2))), ("kron", ((n, m), draw.pick([(k,), (k, 2)]))),
        ("cross", draw.pick([((n, 3), (3,)), ((3,), (n, 3))])), ("convolve", ((n + 2,), (m + 1,))),
        ("correlate", ((n + 2,), (m + 1,))), ("vecdot", ((2, m), (m,))), ("matvec", ((n, m), (2, m))),
        ("vecmat", ((2, m), (m, n))), ("linalg.outer", ((n,), (m,))), ("linalg.matmul", ((n, m), (m, k))),
        ("linalg.vecdot", ((n, m), (n, m))),
    ])  # fmt: skip
    arrays = [draw.array((*INTEGERS, *WIDE, *COMPLEX), shape) for shape in shapes]
    options = {"axes": 2} if name == "tensordot" else {}
    if name in ("convolve", "correlate"):
        options, common = {"mode": draw.pick(["full", "same", "valid"])}, jnp.result_type(*arrays)
        wide = common.kind in "iu" and common.itemsize == 8
        gives = ("float64" if wide else "float32") if common.kind in "iu" else common  # NumPy's are whole
        return replace(call(name, arrays, promote=True, gives=gives, **options), looseness=20)
    return replace(call(name, arrays, promote=True, **options), looseness=20)


def contraction(draw: Draw) -> Expression:
    n, m, k = (draw.integer(1, 3) for _ in range(3))
    formula, shapes = draw.pick([
        ("ij,jk->ik", ((n, m), (m, k))), ("ij,jk->ki", ((n, m), (m, k))), ("ij,jk", ((n, m), (m, k))),
        ("ij,ij->", ((n, m), (n, m))), ("ii->i", ((n, n),)), ("ii", ((n, n),)), ("ij->ji", ((n, m),)),
        ("...ij,jk->...ik", ((2, n, m), (m, k))), ("i,j,k->kji", ((n,), (m,), (k,))), ("ij,kj,kl", ((n, m), (k, m), (k, 2))),
        ("bij,bj->bi", ((2, n, m), (2, m))), ("i...->...", ((n, m, k),)), ("ijk->", ((n, m, k),)),
    ])  # fmt: skip
    arrays = [draw.array((*INTEGERS, *WIDE, *COMPLEX), shape) for shape in shapes]
    return replace(listed(f"einsum {formula}", lambda xp, xs: xp.einsum(formula, *xs), arrays), looseness=20)


def linear_algebra(draw: Draw) -> Expression:
    n = draw.integer(1, 3)
    kinds = (*WIDE, *COMPLEX)
    square = draw.array(kinds, (*draw.shape(0, 1), n, n)) + (8 * np.eye(n)).astype("int8")
    square = square.astype(draw.dtype(COMPLEX if square.dtype.kind == "c" else WIDE))
    other = draw.array([square.dtype.name], (n, 2))
    name = draw.pick("det inv solve norm slogdet matrix_rank pinv cholesky eigvalsh svdvals matrix_norm vector_norm cond "
                     "tensorinv multi_dot matrix_power trace diagonal matrix_transpose".split())  # fmt: skip
    hermitian = square + np.conj(np.swapaxes(square, -1, -2))
    choices = {
        "solve": ([square, other], {}),
        "norm": ([square], {"ord": draw.pick([None, "fro", 1, -1, np.inf, 2, "nuc"]), "axis": (-2, -1)}),
        "matrix_norm": ([square], {"ord": draw.pick(["fro", 1, -1, np.inf, 2, "nuc"]), "keepdims": draw.chance()}),
        "vector_norm": ([square], {"ord": draw.pick([2, 1, 3, np.inf, -np.inf, 0]), "axis": draw.axes(square.ndim)}),
        "cholesky": ([hermitian], {"upper": draw.chance()}), "eigvalsh": ([hermitian], {}),
        "svdvals": ([square], {}), "cond": ([square], {"p": draw.pick([None, 1, "fro", 2])}),
        "trace": ([square], {"offset": draw.integer(-1, 1)}), "diagonal": ([square], {"offset": draw.integer(-1, 1)}),
    }  # fmt: skip
    if name == "multi_dot":
        third = draw.array([square.dtype.name], (2, n))
        arrays = [square.reshape(-1, n, n)[0] if square.size else np.eye(n, dtype=square.dtype), other, third]
        return replace(listed("linalg.multi_dot", lambda xp, xs: xp.linalg.multi_dot(xs), arrays), looseness=100)
    if name == "matrix_power":
        return replace(call("linalg.matrix_power", [square], draw.integer(0, 3)), looseness=100, fixed=(0,))
    if name == "tensorinv":
        return replace(
            call("linalg.tensorinv", [np.eye(4, dtype=square.dtype).reshape(2, 2, 4) * 2], ind=2), fixed=(0,)
        )
    arrays, options = choices.get(name, ([square], {}))
    return replace(call(f"linalg.{name}", arrays, **options), looseness=200, fixed=(0,))


def fourier(draw: Draw) -> Expression:
    name = draw.pick("fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftshift ifftshift "
                     "fftfreq rfftfreq".split())  # fmt: skip
    norm = draw.pick([None, "ortho", "forward", "backward"])
    if name.endswith("freq"):
        return call(f"fft.{name}", [], draw.integer(1, 6), dtype=draw.dtype(["float64"]), d=0.5)
    real = name in ("rfft", "ihfft", "rfft2", "rfftn")
    array = draw.array(WIDE if real else ("float32", *WIDE, *COMPLEX), draw.shape(2, empty=0))
    if name.endswith("shift"):
        return call(f"fft.{name}", [array], axes=draw.axes(array.ndim))
    if name[-1] in "2n":
        axes = draw.pick([(-2, -1), (0, 1), (1, 0)])
        shape = draw.pick([None, (2, 5)])
        return replace(call(f"fft.{name}", [array], s=shape, axes=axes, norm=norm), looseness=20)
    length = draw.integer(2, 6) if name in ("irfft", "hfft") else draw.pick([None, 1, 3, 6])
    return replace(call(f"fft.{name}", [array], n=length, axis=draw.axis(2), norm=norm), looseness=20)


def polynomial(draw: Draw) -> Expression:
    kinds = ("int32", *WIDE, *COMPLEX)
    first, second = (draw.array(kinds, (draw.integer(1, 4),)) for _ in range(2))
    name = draw.pick("polyval polyadd polysub polymul polyder polyint poly vander".split())
    real = first.real.astype(draw.dtype(WIDE))
    if name == "polyder":
        return call(name, [real], draw.integer(1, 2), gives=real.dtype)
    if name in ("polyint", "poly"):
        return replace(call(name, [real], gives=real.dtype), looseness=20)
    if name == "vander":
        options = {"N": draw.integer(1, 4), "increasing": draw.chance()}
        return replace(call(name, [first], **options, gives=first.dtype), looseness=20)
    if name == "polymul":  # NumPy drops leading zeros
        first, second = (np.where(x == 0, 1, x).astype(x.dtype) for x in (first, second))
        return replace(
            call(
                name, [first, second], promote=True, gives=jnp.promote_types(jnp.result_type(first, second), "float32")
            ),
            looseness=20,
        )
    if name == "polyval":
        second = draw.array(kinds)
    return replace(call(name, [first, second], promote=True), looseness=100)


def creation(draw: Draw) -> Expression:
    name = draw.pick("arange linspace logspace geomspace eye identity tri full ones zeros indices hanning hamming bartlett "
                     "blackman kaiser full_like ones_like zeros_like".split())  # fmt: skip
    dtype, count = draw.dtype(), draw.integer(0, 6)
    if name.endswith("_like"):
        more = [2] if name == "full_like" else []
        return call(name, [draw.array()], *more, dtype=draw.pick([None, dtype]))
    if name == "arange":
        return call(name, [], *draw.pick([(count,), (1, 7, 2), (5, -3, -3), (0.0, 2.0, 0.25), (3, 3)]))
    if name in ("linspace", "logspace", "geomspace"):
        kind = draw.dtype(["float64"])
        pair = [draw.array([kind], (), 1, 3), draw.array([kind], draw.pick([(), (2,)]), 4, 6)]
        expression = call(name, pair, count, endpoint=draw.chance(), axis=draw.pick([0, -1]))
        return replace(expression, dtype=kind, looseness=50, fixed=(0, 1))
    sizes = {
        "eye": (count, 3, draw.integer(-2, 2)), "identity": (count,), "tri": (count, 3, draw.integer(-2, 2)),
        "full": (draw.shape(), 3), "ones": (draw.shape(),), "zeros": (draw.shape(),), "indices": (draw.shape(1),),
        "kaiser": (count, 2.5),
    }  # fmt: skip
    options = {} if name in ("hanning", "hamming", "bartlett", "blackman", "kaiser") else {"dtype": dtype}
    return replace(call(name, [], *sizes.get(name, (count,)), **options), looseness=8)


FAMILIES = {
    f.__name__: f
    for f in (order_statistic, statistic, product, contraction, linear_algebra, fourier, polynomial, creation)
}

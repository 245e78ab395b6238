"""Strict promotion of dtypes and refused promotion of ranks: what functions combine by themselves is no operand of the user's."""

import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.dtypes.lattice import TypePromotionError
from arrax.experimental import ode, sparse
from arrax.scipy import fft, linalg, signal, spatial, special, stats
from tests.numpy_api.agreement.checking import FAMILIES
from tests.numpy_api.agreement.expressions import Draw

F, I, B, H, C = (  # noqa: E741
    jnp.array([1.0, 2.0, 4.0]), jnp.array([1, 2, 4]), jnp.array([True, False, True]), jnp.array([1, 2, 4], "bfloat16"),
    jnp.array([1, 2, 4], "complex64"),
)  # fmt: skip
M = jnp.array([[4.0, 1.0], [1.0, 3.0]])
KEY = arrax.random.key(0)


def runs(expression):
    """What an expression does: abstractly where it can be traced, which takes no compilation."""
    if expression.traceable:
        return arrax.eval_shape(expression.ours, *expression.arrays)
    return expression.ours(*expression.arrays)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_expressions_of_one_dtype_and_rank_work_in_the_strict_modes(family):
    draw, faults = Draw(f"{family} strictly", False), []
    for _ in range(60):
        expression = FAMILIES[family](draw)
        arrays = [np.asarray(array) for array in expression.arrays]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                runs(expression)
            except Exception:
                continue
            settings = []
            if len({array.dtype for array in arrays}) < 2:
                settings.append(arrax.numpy_dtype_promotion("strict"))
            mixed = expression.text.startswith(("matvec", "vecmat"))  # several vectors, and one matrix
            if len({array.ndim for array in arrays if array.ndim}) < 2 and not mixed:
                settings.append(arrax.numpy_rank_promotion("raise"))
            for setting in settings:
                try:
                    with setting:
                        runs(expression)
                except Exception as error:
                    faults.append(f"{expression.text}: {error}")
    assert not faults, "\n".join(faults)


# fmt: off
CALLS = {
    "fft":          lambda: [f(F) for f in (jnp.fft.fft, jnp.fft.ifft, jnp.fft.rfft, jnp.fft.irfft, jnp.fft.hfft, jnp.fft.ihfft)],
    "fft of bfloat16": lambda: [jnp.fft.fft(H), jnp.fft.rfft(H)],
    "fft in a plane": lambda: [f(M) for f in (jnp.fft.fft2, jnp.fft.ifftn, jnp.fft.rfftn, jnp.fft.irfft2)],
    "histogram":    lambda: [jnp.histogram(I), jnp.histogram(H), jnp.histogram(F, density=True)],
    "histogram2d":  lambda: jnp.histogram2d(I, I),
    "histogramdd":  lambda: jnp.histogramdd(jnp.ones((4, 2), int)),
    "mgrid":        lambda: [jnp.mgrid[:5, 0:1:0.5], jnp.ogrid[:5, 0:1:0.5]],
    "r_":           lambda: [jnp.r_[I, 0.5], jnp.c_[I, F]],
    "trapezoid":    lambda: [jnp.trapezoid(I, I), jnp.trapezoid(H, H)],
    "logspace":     lambda: jnp.logspace(I, I, 3),
    "logsumexp":    lambda: [arrax.nn.logsumexp(x) for x in (F, I, H, C)],
    "logmeanexp":   lambda: [arrax.nn.logmeanexp(x) for x in (F, H, C)],
    "softmax":      lambda: [arrax.nn.softmax(x) for x in (F, H)],
    "averages":     lambda: [f(x) for f in (jnp.mean, jnp.var, jnp.std, jnp.median) for x in (F, I, H)],
    "quantiles":    lambda: [jnp.quantile(x, 0.5) for x in (F, I, H)],
    "covariance":   lambda: [jnp.cov(x) for x in (F, I, H)] + [jnp.corrcoef(M)],
    "interp":       lambda: [jnp.interp(F, F, F), jnp.array_equiv(F, F[None])],
    "linalg":       lambda: [jnp.linalg.inv(M), jnp.linalg.det(M), jnp.linalg.solve(M, M), jnp.linalg.pinv(M), jnp.linalg.norm(M),
                             jnp.linalg.cond(M), jnp.linalg.matrix_rank(M), jnp.linalg.slogdet(M), jnp.linalg.qr(M), jnp.linalg.eigh(M),
                             jnp.linalg.svd(M), jnp.linalg.cholesky(M), jnp.linalg.lstsq(M, F[:2])[0], jnp.linalg.matrix_power(M, 3)],
    "polynomials":  lambda: [jnp.polyval(F, F), jnp.polymul(F, F), jnp.polydiv(F, F), jnp.roots(F), jnp.polyfit(F, F, 1)],
    "windows":      lambda: [jnp.hanning(5), jnp.kaiser(5, 2.0), jnp.blackman(4)],
    "sampling":     lambda: [arrax.random.normal(KEY, (3,)), arrax.random.gamma(KEY, F), arrax.random.beta(KEY, F, F),
                             arrax.random.poisson(KEY, F), arrax.random.categorical(KEY, F), arrax.random.choice(KEY, I),
                             arrax.random.multivariate_normal(KEY, jnp.zeros(2), M, (3,)), arrax.random.dirichlet(KEY, F),
                             arrax.random.truncated_normal(KEY, -1.0, 1.0, (3,)), arrax.random.t(KEY, F), arrax.random.binomial(KEY, 5.0, 0.5),
                             arrax.random.permutation(KEY, F), arrax.random.orthogonal(KEY, 2), arrax.random.ball(KEY, 2)],
    "cosine transforms": lambda: [fft.dct(F), fft.idct(F), fft.dctn(M), fft.idctn(M)],
    "functions of matrices": lambda: [linalg.sqrtm(M), linalg.funm(M, jnp.sqrt), linalg.expm(M), linalg.rsf2csf(M, M),
                             linalg.solve_sylvester(M, M, M), linalg.polar(M), linalg.schur(M)],
    "spectra":      lambda: [signal.stft(jnp.ones(8), nperseg=4), signal.istft(jnp.ones((3, 5), "complex64"), nperseg=4),
                             signal.welch(jnp.ones(8), nperseg=4), signal.csd(jnp.ones(8), jnp.ones(8), nperseg=4)],
    "special":      lambda: [special.multigammaln(M + 4, 2), special.hyp2f1(1.0, 1.0, 2.0, 0.5), special.lpmn(1, 1, jnp.zeros(1)), special.zeta(2.0, 1.0),
                             special.hyp1f1(F, F, F), special.betainc(F, F, F / 8), special.polygamma(1, F)],
    "harmonics":    lambda: special.sph_harm_y(jnp.array([0]), jnp.array([0]), jnp.zeros(1), jnp.zeros(1)),
    "densities":    lambda: [stats.gaussian_kde(F)(F[:1]), stats.gaussian_kde(F).logpdf(F[:1]), stats.rankdata(F), stats.mode(F)],
    "rotations":    lambda: spatial.transform.Slerp.init(jnp.array([0.0, 1.0]), spatial.transform.Rotation.identity(2))(0.5),
    "images":       lambda: [arrax.image.resize(M, (4, 4), "linear"),
                             arrax.image.scale_and_translate(M, (4, 4), (0, 1), F[:2], jnp.zeros(2), "linear")],
    "odeint":       lambda: ode.odeint(lambda y, t: -y, 1.0, F),
    "sparse":       lambda: sparse.BCOO.fromdense(M) @ F[:2],
}
OF_VALUES = {"histogram", "mgrid", "r_", "averages", "harmonics", "sparse"}  # whose results depend on values, or which the host computes
# fmt: on


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.logical_and(F, I), lambda: jnp.logical_or(C, True), lambda: jnp.logical_xor(I, 0.5),
        lambda: jnp.linspace(I, 2.5), lambda: jnp.logspace(F, I), lambda: jnp.geomspace(B, F),
        lambda: jnp.trapezoid(I, F),
    ],
)  # fmt: skip
def test_operands_of_several_dtypes_are_refused_where_nothing_is_promoted(call):
    arrax.eval_shape(call)
    with arrax.numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError):
        arrax.eval_shape(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: special.xlogy(M, F[:2]), lambda: special.betainc(M, 1.0, F[:2]), lambda: jnp.vecdot(M, F[:2]),
        lambda: jnp.matvec(M[None], F[:2]), lambda: jnp.vecmat(M, M), lambda: jnp.linspace(M, F[:2], 3),
        lambda: jnp.geomspace(M, F[:2], 3), lambda: jnp.ldexp(M, I[:2]),
        lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(M, F[:2]),
    ],
)  # fmt: skip
def test_operands_of_several_ranks_are_refused_where_no_rank_is_promoted(call):
    arrax.eval_shape(call)
    with arrax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        arrax.eval_shape(call)


def test_products_of_several_dtypes_work_where_nothing_is_promoted():
    with arrax.numpy_dtype_promotion("strict"):
        assert arrax.eval_shape(arrax.lax.dot, F, I).dtype == np.float32
        assert arrax.eval_shape(arrax.nn.squareplus, C, 1.5).dtype == np.complex64


@pytest.mark.parametrize("name", CALLS)
def test_calls_work_in_the_strict_modes(name):
    with arrax.numpy_dtype_promotion("strict"), arrax.numpy_rank_promotion("raise"):
        if name in OF_VALUES:
            CALLS[name]()
        else:  # abstractly, which takes no compilation
            arrax.eval_shape(CALLS[name])

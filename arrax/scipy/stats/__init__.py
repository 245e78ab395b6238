"""Distributions and statistics. Public names only."""

from arrax.core.late_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, {
    "arrax.scipy.stats.kernel_density": ("gaussian_kde",),
    "arrax.scipy.stats.ranks": ("mode", "rankdata", "sem",),
}, submodules=(
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom", "gumbel_l",
    "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t",
    "truncnorm", "uniform", "vonmises", "wrapcauchy",
))  # fmt: skip

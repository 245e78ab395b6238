"""Special functions. Public names only."""

from arrax.core.late_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, {
    "arrax.scipy.special.bessel_functions": ("bessel_jn", "i0", "i0e", "i1", "i1e",),
    "arrax.scipy.special.error_functions": (
        "dawsn", "erf", "erfc", "erfcx", "erfinv", "fresnel", "log_ndtr", "ndtr", "ndtri", "wofz",
    ),
    "arrax.scipy.special.exponential_integrals": ("exp1", "expi", "expn", "sici",),
    "arrax.scipy.special.gamma_functions": (
        "betainc", "digamma", "factorial", "gamma", "gammainc", "gammaincc", "gammaln",
        "gammasgn", "loggamma", "multigammaln", "polygamma",
    ),
    "arrax.scipy.special.gamma_quotients": ("beta", "betaln", "comb", "poch",),
    "arrax.scipy.special.harmonics": ("lpmn", "lpmn_values", "sph_harm", "sph_harm_y",),
    "arrax.scipy.special.hypergeometric": ("hyp1f1", "hyp2f1",),
    "arrax.scipy.special.logarithmic": (
        "boxcox", "boxcox1p", "entr", "expit", "kl_div", "log_softmax", "logit", "logsumexp", "rel_entr", "softmax",
        "spence", "xlog1py", "xlogy",
    ),
    "arrax.scipy.special.owens": ("owens_t",),
    "arrax.scipy.special.zeta_functions": ("bernoulli", "zeta",),
})  # fmt: skip

"""Primitives under their own names: ``exp_p`` is the primitive that the function ``exp`` applies."""

from arrax.lax import (
    argminmax,
    arithmetic,
    bitwise,
    cumulative,
    exponential,
    incomplete_gamma,
    reductions,
    special,
    trigonometric,
)

# fmt: off
abs_p         = arithmetic.abs_.primitive
add_p         = arithmetic.add.primitive
ceil_p        = arithmetic.ceil.primitive
complex_p     = arithmetic.complex_.primitive
div_p         = arithmetic.div.primitive
eq_to_p       = arithmetic.eq_to.primitive
eq_p          = arithmetic.eq.primitive
floor_p       = arithmetic.floor.primitive
ge_p          = arithmetic.ge.primitive
gt_p          = arithmetic.gt.primitive
imag_p        = arithmetic.imag.primitive
is_finite_p   = arithmetic.is_finite.primitive
le_to_p       = arithmetic.le_to.primitive
le_p          = arithmetic.le.primitive
lt_to_p       = arithmetic.lt_to.primitive
lt_p          = arithmetic.lt.primitive
max_p         = arithmetic.max_.primitive
min_p         = arithmetic.min_.primitive
ne_p          = arithmetic.ne.primitive
neg_p         = arithmetic.neg.primitive
real_p        = arithmetic.real_part.primitive
rem_p         = arithmetic.rem.primitive
sign_p        = arithmetic.sign.primitive
square_p      = arithmetic.square.primitive
sub_p         = arithmetic.sub.primitive

cbrt_p        = exponential.cbrt.primitive
exp2_p        = exponential.exp2.primitive
exp_p         = exponential.exp.primitive
expm1_p       = exponential.expm1.primitive
log1p_p       = exponential.log1p.primitive
log_p         = exponential.log.primitive
logistic_p    = exponential.logistic.primitive
rsqrt_p       = exponential.rsqrt.primitive
sqrt_p        = exponential.sqrt.primitive

acos_p        = trigonometric.acos.primitive
acosh_p       = trigonometric.acosh.primitive
asin_p        = trigonometric.asin.primitive
asinh_p       = trigonometric.asinh.primitive
atan2_p       = trigonometric.atan2.primitive
atan_p        = trigonometric.atan.primitive
atanh_p       = trigonometric.atanh.primitive
cos_p         = trigonometric.cos.primitive
cosh_p        = trigonometric.cosh.primitive
sin_p         = trigonometric.sin.primitive
sinh_p        = trigonometric.sinh.primitive
tan_p         = trigonometric.tan.primitive
tanh_p        = trigonometric.tanh.primitive

bessel_i0e_p  = special.bessel_i0e.primitive
bessel_i1e_p  = special.bessel_i1e.primitive
digamma_p     = special.digamma.primitive
erf_inv_p     = special.erf_inv.primitive
erf_p         = special.erf.primitive
erfc_p        = special.erfc.primitive
lgamma_p      = special.lgamma.primitive
polygamma_p   = special.polygamma.primitive
zeta_p        = special.zeta.primitive
igamma_grad_a_p     = incomplete_gamma.igamma_grad_a.primitive
igamma_p            = incomplete_gamma.igamma.primitive
igammac_p           = incomplete_gamma.igammac.primitive
random_gamma_grad_p = incomplete_gamma.random_gamma_grad.primitive

and_p         = bitwise.bitwise_and.primitive
clz_p         = bitwise.clz.primitive
nextafter_p   = bitwise.nextafter.primitive
not_p         = bitwise.bitwise_not.primitive
or_p          = bitwise.bitwise_or.primitive
population_count_p       = bitwise.population_count.primitive
shift_left_p             = bitwise.shift_left.primitive
shift_right_arithmetic_p = bitwise.shift_right_arithmetic.primitive
shift_right_logical_p    = bitwise.shift_right_logical.primitive
xor_p         = bitwise.bitwise_xor.primitive

argmax_p      = argminmax.argmax.primitive
argmin_p      = argminmax.argmin.primitive
reduce_and_p  = reductions.reduce_and.primitive
reduce_max_p  = reductions.reduce_max.primitive
reduce_min_p  = reductions.reduce_min.primitive
reduce_or_p   = reductions.reduce_or.primitive
reduce_prod_p = reductions.reduce_prod.primitive
reduce_sum_p  = reductions.reduce_sum.primitive
reduce_xor_p  = reductions.reduce_xor.primitive

cumlogsumexp_p = cumulative.cumlogsumexp.primitive
cummax_p      = cumulative.cummax.primitive
cummin_p      = cumulative.cummin.primitive
cumprod_p     = cumulative.cumprod.primitive
cumsum_p      = cumulative.cumsum.primitive
# fmt: on

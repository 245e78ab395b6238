"""The primitives of the language by their names, for libraries that give them rules or tell them apart."""

from arrax import lax as _lax
from arrax.core.late_names import late_names as _late_names

__getattr__, __dir__, __all__ = _late_names(__name__, {
    "arrax.lax": tuple(name for name in dir(_lax) if name.endswith("_p")),
    "arrax.lax.arithmetic": ("add_jaxvals_p",),
    "arrax.lax.calls": ("core_call_p", "core_call_p as call_p", "core_call_p as closed_call_p"),
    "arrax.lax.custom_linear_calls": ("custom_linear_p", "custom_linear_p as custom_lin_p"),
    "arrax.random.gamma": ("random_gamma_p",),
    "arrax.random.key_arrays": ("random_bits_p", "random_fold_in_p", "random_seed_p", "random_split_p"),
    "arrax.random.threefry": ("threefry2x32_p",),
})  # fmt: skip

"""Transformations under their old private path."""

from arrax.transforms.autodiff import jvp as jvp
from arrax.transforms.autodiff import linearize as linearize
from arrax.transforms.autodiff import vjp as vjp
from arrax.transforms.gradients import grad as grad
from arrax.transforms.gradients import jacfwd as jacfwd
from arrax.transforms.gradients import jacrev as jacrev
from arrax.transforms.gradients import value_and_grad as value_and_grad
from arrax.transforms.inspection import ShapeDtypeStruct as ShapeDtypeStruct
from arrax.transforms.inspection import eval_shape as eval_shape
from arrax.transforms.inspection import make_jaxpr as make_jaxpr
from arrax.transforms.jit import jit as jit
from arrax.transforms.vectorize import vmap as vmap

"""Neural-network functions. Public names only."""

import typing as _typing

from arrax.core.late_names import late_names
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.nn.activations import celu as celu
from arrax.nn.activations import elu as elu
from arrax.nn.activations import gelu as gelu
from arrax.nn.activations import glu as glu
from arrax.nn.activations import hard_sigmoid as hard_sigmoid
from arrax.nn.activations import hard_silu as hard_silu
from arrax.nn.activations import hard_swish as hard_swish
from arrax.nn.activations import hard_tanh as hard_tanh
from arrax.nn.activations import identity as identity
from arrax.nn.activations import leaky_relu as leaky_relu
from arrax.nn.activations import log1mexp as log1mexp
from arrax.nn.activations import log_sigmoid as log_sigmoid
from arrax.nn.activations import mish as mish
from arrax.nn.activations import one_hot as one_hot
from arrax.nn.activations import relu as relu
from arrax.nn.activations import relu6 as relu6
from arrax.nn.activations import selu as selu
from arrax.nn.activations import sigmoid as sigmoid
from arrax.nn.activations import silu as silu
from arrax.nn.activations import soft_sign as soft_sign
from arrax.nn.activations import softplus as softplus
from arrax.nn.activations import sparse_plus as sparse_plus
from arrax.nn.activations import sparse_sigmoid as sparse_sigmoid
from arrax.nn.activations import squareplus as squareplus
from arrax.nn.activations import swish as swish
from arrax.nn.attention import dot_product_attention as dot_product_attention
from arrax.nn.normalization import log_softmax as log_softmax
from arrax.nn.normalization import softmax as softmax
from arrax.nn.normalization import standardize as standardize
from arrax.nn.scaled import get_scaled_dot_general_config as get_scaled_dot_general_config
from arrax.nn.scaled import scaled_dot_general as scaled_dot_general
from arrax.nn.scaled import scaled_matmul as scaled_matmul
from arrax.numpy_api.elementwise import tanh as tanh
from arrax.numpy_api.exponential_sums import logmeanexp as logmeanexp
from arrax.numpy_api.exponential_sums import logsumexp as logsumexp

_find_late, __dir__, __all__ = late_names(__name__, {}, submodules=("initializers",))

if _typing.TYPE_CHECKING:
    from arrax.nn import initializers as initializers
else:
    __getattr__ = _find_late

_bound_names(__name__)

"""Examples of public names that have none in a docstring of ours: primitives, constants, options, classes of NumPy and jaxlib.

The reference shows them, the tests run them. A text that begins with ``Example:`` comes behind what a value says of itself;
another one stands in its place.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from arrax import lax
from arrax.core.interpreter import Primitive

# What stands before each example; names of the function's own module count between the two.
IMPORTS = """\
import arrax
import arrax.numpy as jnp
import numpy as np
from arrax import dtypes, grad, image, jit, lax, make_jaxpr, nn, random, vmap
from arrax.example_libraries import optimizers, stax
from arrax.experimental import array_api as xp
from arrax.experimental import pallas as pl
from arrax.experimental import sparse as sp
from arrax.experimental.pallas import tpu as pltpu
from arrax.sharding import PartitionSpec as P
"""
VALUES = """\
x = jnp.arange(4.0)
y = 2.0
key = random.key(0)
log = []
"""
# What puts a primitive into a program, where this is not the example of the function of the same name.
_DOWN = "lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), 'VALID')"
# fmt: off
PROGRAMS = {
    "add_jaxvals":              "arrax.extend.core.primitives.add_jaxvals_p.bind(x, x)",
    "bcoo_dot_general":         "sp.bcoo_dot_general(sp.eye(3), x[:3], dimension_numbers=(((1,), (0,)), ((), ())))",
    "bcoo_dot_general_sampled": "sp.bcoo_dot_general_sampled(jnp.eye(3), jnp.eye(3), sp.eye(3).indices, dimension_numbers=(((1,), (0,)), ((), ())))",
    "bcoo_extract":             "sp.bcoo_extract(sp.eye(3), jnp.eye(3))",
    "bcoo_fromdense":           "sp.bcoo_fromdense(jnp.eye(3), nse=3)",
    "bcoo_sort_indices":        "sp.bcoo_sort_indices(sp.eye(3))",
    "bcoo_spdot_general":       "sp.bcoo_dot_general(sp.eye(3), sp.eye(3), dimension_numbers=(((1,), (0,)), ((), ())))",
    "bcoo_sum_duplicates":      "sp.bcoo_sum_duplicates(sp.eye(3), nse=3)",
    "bcoo_todense":             "sp.bcoo_todense(sp.eye(3))",
    "bcoo_transpose":           "sp.bcoo_transpose(sp.eye(3), permutation=(1, 0))",
    "bcsr_dot_general":         "sp.bcsr_dot_general(sp.bcsr_fromdense(jnp.eye(3), nse=3), x[:3], dimension_numbers=(((1,), (0,)), ((), ())))",
    "bcsr_extract":             "sp.bcsr_extract(jnp.arange(3), jnp.arange(4), jnp.eye(3))",
    "bcsr_fromdense":           "sp.bcsr_fromdense(jnp.eye(3), nse=3)",
    "bcsr_todense":             "sp.bcsr_todense(sp.bcsr_fromdense(jnp.eye(3), nse=3))",
    "coo_fromdense":            "sp.coo_fromdense(jnp.eye(3), nse=3)",
    "coo_matmat":               "sp.coo_matmat(sp.coo_fromdense(jnp.eye(3), nse=3), jnp.eye(3))",
    "coo_matvec":               "sp.coo_matvec(sp.coo_fromdense(jnp.eye(3), nse=3), x[:3])",
    "coo_todense":              "sp.coo_todense(sp.coo_fromdense(jnp.eye(3), nse=3))",
    "csr_fromdense":            "sp.csr_fromdense(jnp.eye(3), nse=3)",
    "csr_matmat":               "sp.csr_matmat(sp.csr_fromdense(jnp.eye(3), nse=3), jnp.eye(3))",
    "csr_matvec":               "sp.csr_matvec(sp.csr_fromdense(jnp.eye(3), nse=3), x[:3])",
    "csr_todense":              "sp.csr_todense(sp.csr_fromdense(jnp.eye(3), nse=3))",
    "todense":                  "sp.todense(sp.eye(3))",
    "all_gather":                  "lax.all_gather(x, 'i')",
    "all_to_all":                  "lax.all_to_all(x, 'i', 0, 0, tiled=True)",
    "and":                         "lax.bitwise_and(1, 3)",
    "approx_top_k":                "lax.approx_max_k(x, 2)",
    "axis_index":                  "lax.axis_index('i')",
    "copy":                        "lax.copy_p.bind(x)",
    "count":                       "jnp.bincount(jnp.arange(4), length=4)",
    "custom_jvp_call":             "nn.relu(1.0)",
    "custom_linear":               "arrax.linearize(arrax.custom_gradient(lambda x: (x, lambda ct: ct)), x)[1](x)",
    "custom_vjp_call":             "arrax.custom_gradient(lambda x: (x, lambda ct: ct))(x)",
    "device_put":                  "arrax.device_put(x)",
    "dot_general":                 "lax.dot_general(x, x, (((0,), (0,)), ((), ())))",
    "eig":                         "lax.linalg.eig(jnp.eye(2), compute_left_eigenvectors=False)",
    "eq_to":                       "lax.eq_to_p.bind(x, x)",
    "gather":                      "x[jnp.array([2, 0])]",
    "geqp3":                       "lax.geqp3_p.bind(jnp.eye(2), jnp.zeros(2, 'int32'))",
    "gesvdj":                      "lax.gesvdj_p.bind(jnp.eye(2), full_matrices=True, compute_uv=True)",
    "householder_product":         "lax.linalg.householder_product(*lax.linalg.geqrf(jnp.eye(2)))",
    "infeed":                      "lax.infeed(lax.create_token(), shape=arrax.ShapeDtypeStruct((3,), jnp.float32))",
    "jit":                         "jit(jnp.sin)(x)",
    "le_to":                       "lax.le_to_p.bind(x, x)",
    "linear_recurrence":           "arrax.jvp(lax.cumprod, (x,), (x,))",
    "linear_solve":                "lax.custom_linear_solve(lambda v: 2 * v, x, lambda matvec, b: b / 2, symmetric=True)",
    "lt_to":                       "lax.lt_to_p.bind(x, x)",
    "name":                        "arrax.ad_checkpoint.checkpoint_name(x, 'kept')",
    "not":                         "lax.bitwise_not(1)",
    "or":                          "lax.bitwise_or(1, 3)",
    "order_statistics":            "jnp.median(x)",
    "ormqr":                       "lax.linalg.ormqr(*lax.linalg.geqrf(jnp.eye(2)), jnp.eye(2))",
    "outfeed":                     "lax.outfeed(lax.create_token(), x)",
    "partition":                   "jnp.partition(x, 2)",
    "pbroadcast":                  "lax.pbroadcast(x, 'i', 0)",
    "platform_index":              "lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)",
    "pmax":                        "lax.pmax(x, 'i')",
    "pmin":                        "lax.pmin(x, 'i')",
    "ppermute":                    "lax.ppermute(x, 'i', [(0, 1)])",
    "precv":                       "lax.precv(lax.psend(x, 'i', [(0, 1)]), x, 'i', [(0, 1)])",
    "psend":                       "lax.psend(x, 'i', [(0, 1)])",
    "psum":                        "lax.psum(x, 'i')",
    "ragged_all_to_all":           "lax.ragged_all_to_all(x, x, *[jnp.zeros(2, 'int32')] * 4, axis_name='i')",
    "ragged_dot_general":          "lax.ragged_dot(jnp.eye(2), jnp.ones((1, 2, 2)), jnp.array([2]))",
    "random_bits":                 "random.bits(key)",
    "random_fold_in":              "random.fold_in(key, 1)",
    "random_gamma":                "random.gamma(key, 2.0)",
    "random_seed":                 "random.key(0)",
    "random_split":                "random.split(key)",
    "reduce":                      "lax.reduce(x, 0.0, lambda a, b: a + 2 * b, (0,))",
    "reduce_and":                  "lax.reduce_and(x > 2, (0,))",
    "reduce_or":                   "lax.reduce_or(x > 2, (0,))",
    "reduce_scatter":              "lax.psum_scatter(x, 'i', tiled=True)",
    "reduce_window":               "lax.reduce_window(x, 0.0, lambda a, b: a + 2 * b, (2,), (1,), 'VALID')",
    "reduce_window_max":           "lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), 'VALID')",
    "reduce_window_min":           "lax.reduce_window(x, jnp.inf, lax.min, (2,), (1,), 'VALID')",
    "reduce_window_sum":           "lax.reduce_window(x, 0.0, lax.add, (2,), (1,), 'VALID')",
    "reduce_xor":                  "lax.reduce_xor(x > 2, (0,))",
    "regularized_incomplete_beta": "lax.betainc(1.0, 2.0, 0.5)",
    "remat":                       "arrax.checkpoint(jnp.sin)(x)",
    "root":                        "lax.custom_root(lambda x: x * x - 4, 1.0, lambda f, x: x / 2, lambda g, y: y / g(1.0))",
    "scaled_dot":                  "lax.scaled_dot(*[jnp.ones((1, 64), 'float8_e4m3fn'), jnp.ones((64, 1), 'float8_e4m3fn')], lhs_scale=jnp.ones((1, 2)), rhs_scale=jnp.ones((2, 1)))",
    "select_and_gather_add":       f"arrax.jvp(lambda x: {_DOWN}, (x,), (x,))",
    "select_and_scatter_add":      f"grad(lambda x: {_DOWN}.sum())(x)",
    "sharding_constraint":         "lax.with_sharding_constraint(x, x.sharding)",
    "threefry2x32":                "arrax.extend.random.threefry_2x32((jnp.uint32(0), jnp.uint32(1)), jnp.arange(2, dtype='uint32'))",
    "while":                       "lax.while_loop(lambda i: i < 3, lambda i: i + 1, 0)",
    "xor":                         "lax.bitwise_xor(1, 3)",
}
# fmt: on


# fmt: off
def _layer(name: str, values: str, operands: str = "x") -> str:
    return f"Example: ``init, apply = stax.{name}; apply((), {operands})`` is ``{values}``."


def _kind(name: str, what: str, yes: str) -> str:
    return f"NumPy's class of {what}: ``jnp.issubdtype`` knows it. Example: ``jnp.issubdtype(jnp.{yes}, jnp.{name})`` is True."


def _constant(name: str, what: str, code: str, value: str) -> str:
    return f"{what}. Example: ``{code}`` is {value}."


def _dtypes(name: str, what: str, member: str) -> str:
    return f"The dtypes that are {what}. Example: ``np.dtype(dtypes.{member}) in dtypes.{name}`` is True."


_CONSTANTS = {
    "e":          _constant("e", "Euler's number, the base of natural logarithms", "jnp.log(jnp.e)", "1.0"),
    "euler_gamma": _constant("euler_gamma", "Euler's constant: the limit of 1 + 1/2 + ... + 1/n - log n", "arrax.scipy.special.digamma(1.0) + jnp.euler_gamma", "0.0"),
    "inf":        _constant("inf", "Infinity", "jnp.maximum(jnp.inf, x)[0] > 1e30", "True"),
    "nan":        _constant("nan", "The float that is not a number", "jnp.isnan(jnp.nan)", "True"),
    "newaxis":    _constant("newaxis", "``None``: as an index, a new axis of length 1", "x[:, jnp.newaxis].shape", "``(4, 1)``"),
    "pi":         _constant("pi", "Half of the length of the unit circle", "jnp.cos(jnp.pi)", "-1.0"),
}
def _memory(package: str, name: str) -> str:
    return f"Where an operand of a kernel lies. Example: ``{package}.{name}((8,), 'float32').shape`` is ``(8,)``."


EXAMPLES: dict[str, dict[str, str]] = {
    "arrax.experimental.pallas": {
        **{name: _memory("pl", name) for name in ("ANY", "HOST")},
        "no_block_spec": "The specification of operands that each program sees whole. Example: ``pl.pallas_call(lambda a, b: b.set(a[...]), out_shape=x, in_specs=pl.no_block_spec)(x)`` is ``x``.",
        "squeezed": "A dimension of blocks of length 1 that the kernel does not see. Example: ``pl.BlockSpec((pl.squeezed, 4), lambda i: (i, 0))``.",
    },
    "arrax.experimental.pallas.tpu": {
        **{name: _memory("pltpu", name) for name in ("HBM", "SEMAPHORE", "SMEM", "VMEM")},
        **{name: f"How an axis of a grid may be run. Example: ``pltpu.CompilerParams(dimension_semantics=(pltpu.{name},))``." for name in ("ARBITRARY", "CORE_PARALLEL", "PARALLEL", "SUBCORE_PARALLEL")},
    },
    "arrax": {
        "Device": "A device: what ``arrax.devices`` lists, and where ``arrax.device_put`` puts arrays.\n\nExample: ``device = arrax.devices()[0]; x.devices() == {device}`` is True.",
        "NamedSharding": "How an array lies on a mesh of devices: a mesh, and which of its axes divides which axis of the array.\n\nArgs:\n  mesh: ``Mesh`` or ``AbstractMesh``.\n  spec: ``PartitionSpec``: for each axis of the array, the mesh axis (or axes) that divides it, or None.\n  memory_kind: name of a kind of memory of the devices, by default their own.\nExample: ``sharding = arrax.NamedSharding(arrax.make_mesh((1,), ('rows',)), P('rows')); arrax.device_put(x, sharding).sharding.spec`` is ``P('rows')``.",
        "array_garbage_collection_guard": "Example: ``with arrax.array_garbage_collection_guard('log'): rows = [x]`` logs arrays that are freed by the garbage collector only.",
        "check_tracer_leaks": "Example: ``with arrax.check_tracer_leaks(): value = jit(jnp.sin)(y)`` runs, as ``jnp.sin`` keeps nothing; a function that appends its argument to a list raises.",
        "config": "The options: attributes that can be read, set by ``update`` or by environment variables.\n\nExample: ``arrax.config.jax_enable_x64`` is False; ``arrax.config.update('jax_enable_x64', True)`` sets it for all threads.",
        "debug_infs": "Example: ``with arrax.debug_infs(): jnp.divide(1.0, 0.0)`` raises ``FloatingPointError``.",
        "debug_key_reuse": "Example: ``with arrax.debug_key_reuse(): random.normal(key), random.uniform(key)`` raises ``arrax.errors.KeyReuseError``.",
        "debug_nans": "Example: ``with arrax.debug_nans(): jnp.log(-1.0)`` raises ``FloatingPointError``.",
        "default_device": "Example: ``with arrax.default_device(arrax.devices()[0]): there = jnp.zeros(2).devices()`` puts zeros on the first device.",
        "default_matmul_precision": "Example: ``with arrax.default_matmul_precision('float32'): product = jnp.dot(x, x)`` is as exact as float32, on all platforms.",
        "default_prng_impl": "Example: ``with arrax.default_prng_impl('rbg'): fast = random.key(0)`` makes a key of the generator ``rbg``.",
        "disable_jit": "Example: ``with arrax.disable_jit(): jit(lambda x: log.append(x))(y)`` appends the number itself, not a tracer.",
        "enable_checks": "Example: ``with arrax.enable_checks(): program = make_jaxpr(jnp.sin)(y)`` checks the types of each program that is made.",
        "enable_custom_prng": "Example: ``with arrax.enable_custom_prng(): typed = random.PRNGKey(0)`` makes what ``random.key(0)`` makes.",
        "enable_x64": "Example: ``with arrax.enable_x64(): wide = jnp.arange(3.0)`` makes an array of float64.",
        "explain_cache_misses": "Example: ``with arrax.explain_cache_misses(): jit(jnp.sin)(y)`` logs why the function was traced.",
        "float0": "The dtype of tangents of integers and bools: it has one value, zero, and no bytes.\n\nExample: ``grad(lambda n: 2.0 * n, allow_int=True)(3).dtype == arrax.float0`` is True.",
        "legacy_prng_key": "Example: ``with arrax.legacy_prng_key('error'): random.normal(random.PRNGKey(0))`` raises ``ValueError``.",
        "log_compiles": "Example: ``with arrax.log_compiles(): jit(lambda x: x + 1)(y)`` logs that the function is traced and compiled.",
        "no_tracing": "Example: ``with arrax.no_tracing(): jit(lambda x: x + 1)(y)`` raises ``RuntimeError``.",
        "numpy_dtype_promotion": "Example: ``with arrax.numpy_dtype_promotion('strict'): x + jnp.arange(4)`` raises ``arrax.dtypes.TypePromotionError``.",
        "numpy_rank_promotion": "Example: ``with arrax.numpy_rank_promotion('raise'): x + jnp.ones((1, 4))`` raises ``ValueError``.",
        "softmax_custom_jvp": "Example: ``with arrax.softmax_custom_jvp(False): slope = grad(lambda x: nn.softmax(x)[0])(x)`` differentiates each step of softmax.",
        "threefry_partitionable": "Example: ``with arrax.threefry_partitionable(True): values = random.normal(key, (2,))`` draws each value from its own counter.",
        "transfer_guard": "Example: ``with arrax.transfer_guard('disallow'): x + np.ones(4)`` raises ``RuntimeError``.",
        "transfer_guard_device_to_device": "Example: ``with arrax.transfer_guard_device_to_device('disallow'): same = x + 1`` runs, since everything is on one device.",
        "transfer_guard_device_to_host": "Example: ``with arrax.transfer_guard_device_to_host('log'): numbers = np.asarray(x)`` logs the transfer on devices other than CPUs.",
        "transfer_guard_host_to_device": "Example: ``with arrax.transfer_guard_host_to_device('disallow'): x + np.ones(4)`` raises ``RuntimeError``.",
    },
    "arrax.numpy": _CONSTANTS | {
        "ComplexWarning": "NumPy's warning where the imaginary parts of numbers are dropped.\n\nExample: ``import warnings; warnings.simplefilter('error', jnp.ComplexWarning); jnp.array([1j]).astype('float32')`` raises ``jnp.ComplexWarning``.",
        "character": _kind("character", "strings", "character"),
        "complexfloating": _kind("complexfloating", "complex numbers", "complex64"),
        "dtype": "NumPy's class of dtypes.\n\nExample: ``jnp.dtype('float32').itemsize`` is 4.",
        "flexible": _kind("flexible", "strings and records, which arrays here cannot hold", "character"),
        "floating": _kind("floating", "real floating-point numbers", "bfloat16"),
        "generic": _kind("generic", "all scalars", "int8"),
        "get_printoptions": "NumPy's function: how arrays are printed now, those of arrax too.\n\nReturns: dict of the arguments of ``set_printoptions``.\nExample: ``jnp.get_printoptions()['precision']`` is 8.",
        "index_exp": "NumPy's maker of indices: what stands in brackets, as a tuple.\n\nExample: ``jnp.index_exp[1:3, 0]`` is ``(slice(1, 3), 0)``; ``x.at[jnp.index_exp[1:3]]`` takes it.",
        "inexact": _kind("inexact", "floating-point numbers, real and complex", "float16"),
        "integer": _kind("integer", "integers", "uint8"),
        "iterable": "NumPy's function: whether ``for`` can go through a value.\n\nExample: ``jnp.iterable(x)`` is True.",
        "number": _kind("number", "numbers", "int8"),
        "object_": "NumPy's class of Python objects, which arrays here cannot hold.\n\nExample: ``jnp.array([None], dtype=jnp.object_)`` raises ``TypeError``.",
        "printoptions": "NumPy's context manager: print arrays in another way inside.\n\nArgs: those of ``set_printoptions``.\nExample: ``with jnp.printoptions(precision=2): print(jnp.pi * x)``.",
        "s_": "NumPy's maker of indices: what stands in brackets, a single index without a tuple around it.\n\nExample: ``jnp.s_[1:3]`` is ``slice(1, 3)``.",
        "set_printoptions": "NumPy's function: how arrays are printed from now on, those of arrax too.\n\nArgs:\n  precision: digits behind the point, by default 8.\n  threshold: how many elements an array has that is shortened.\n  edgeitems: how many elements of an axis stand at either end of a shortened one.\n  linewidth: characters in a line.\n  suppress: whether small numbers are printed without exponents.\nExample: ``jnp.set_printoptions(precision=8)``.",
        "signedinteger": _kind("signedinteger", "signed integers", "int8"),
        "unsignedinteger": _kind("unsignedinteger", "unsigned integers", "uint8"),
    },
    "arrax.experimental.array_api": {name: text.replace("(jnp.", "(xp.") for name, text in _CONSTANTS.items() if name != "euler_gamma"},
    "arrax.lax": {
        "ConvGeneralDilatedDimensionNumbers": "What ``lax.conv_general_dilated`` takes as ``dimension_numbers``: ``ConvDimensionNumbers``, three strings, or None.\n\nExample: ``lax.conv_dimension_numbers((1, 3, 8, 8), (4, 3, 2, 2), ('NCHW', 'OIHW', 'NCHW')).lhs_spec`` is ``(0, 1, 2, 3)``.",
        "DotDimensionNumbers": "What ``lax.dot_general`` takes as ``dimension_numbers``: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``, tuples of axes.\n\nExample: ``lax.dot_general(x, x, (((0,), (0,)), ((), ())))`` is 14.0.",
        "PrecisionLike": "What products take as ``precision``: a ``Precision`` or its name, one for each operand, a ``DotAlgorithm``, or None.\n\nExample: ``lax.dot(x, x, precision='highest')`` is 14.0.",
    },
    "arrax.core": {
        "Atom": "What stands as an operand in a program: a variable or a literal.\n\nExample: ``program = make_jaxpr(lambda x: x + 1.0)(y); [type(atom).__name__ for atom in program.eqns[0].invars]`` is ``['Var', 'Literal']``.",
        "abstract_token": "The type of tokens.\n\nExample: ``make_jaxpr(lambda: lax.create_token(0))().out_avals == [arrax.core.abstract_token]`` is True.",
        "no_effects": "The effects of pure programs: none.\n\nExample: ``make_jaxpr(jnp.sin)(y).effects == arrax.core.no_effects`` is True.",
    },
    "arrax.dtypes": {
        "DType": "What is a dtype: NumPy's, or an extended one such as that of random keys.\n\nExample: ``isinstance(key.dtype, dtypes.DType)`` is True.",
        "DTypeLike": "What functions take as ``dtype``: a dtype, its name, a scalar type, or what has a dtype.\n\nExample: ``isinstance('float32', dtypes.DTypeLike)`` is True.",
        "OptionalDType": "``DTypeLike`` or None, where the dtype follows from other arguments.\n\nExample: ``jnp.zeros(2, dtype=None).dtype`` is ``np.dtype('float32')``.",
        "bfloat16": "The scalar type of bfloat16, of ``ml_dtypes``: the exponents of float32 with 8 bits of precision.\n\nExample: ``jnp.ones(2, dtypes.bfloat16).dtype`` is ``np.dtype(dtypes.bfloat16)``.",
        "bool_dtypes": _dtypes("bool_dtypes", "bools: one", "bool_") .replace("dtypes.bool_)", "bool)"),
        "complex_dtypes": "The dtypes of complex numbers. Example: ``np.dtype('complex64') in dtypes.complex_dtypes`` is True.",
        "floating_dtypes": "The dtypes of real floating-point numbers of 16 bits or more. Example: ``np.dtype('float32') in dtypes.floating_dtypes`` is True.",
        "inexact_dtypes": "The dtypes of real and complex floating-point numbers of 16 bits or more. Example: ``np.dtype('complex64') in dtypes.inexact_dtypes`` is True.",
        "integer_dtypes": "The dtypes of integers of 8 bits or more. Example: ``np.dtype('int8') in dtypes.integer_dtypes`` is True.",
        "known_dtypes": "The dtypes that arrays may have, extended ones left out. Example: ``np.dtype(object) in dtypes.known_dtypes`` is False.",
        "narrow_floating_dtypes": "The floating-point dtypes of 8 bits and less. Example: ``jnp.dtype('float8_e5m2') in dtypes.narrow_floating_dtypes`` is True.",
        "narrow_integer_dtypes": "The integer dtypes of less than 8 bits. Example: ``jnp.dtype('int4') in dtypes.narrow_integer_dtypes`` is True.",
        "numeric_dtypes": "The dtypes of numbers: all but bool. Example: ``np.dtype(bool) in dtypes.numeric_dtypes`` is False.",
        "python_scalar_dtypes": "The dtypes of Python's numbers with 64-bit types on. Example: ``dtypes.python_scalar_dtypes[int]`` is ``np.dtype('int64')``.",
        "signed_integer_dtypes": "The dtypes of signed integers. Example: ``np.dtype('int8') in dtypes.signed_integer_dtypes`` is True.",
        "unsigned_integer_dtypes": "The dtypes of unsigned integers. Example: ``np.dtype('uint8') in dtypes.unsigned_integer_dtypes`` is True.",
    },
    "arrax.errors": {
        "JaxRuntimeError": "An error of the runtime: memory that does not suffice, an operation that a platform does not have, a callback that raised.\n\nExample: ``jnp.zeros((2**25, 2**25)).block_until_ready()`` raises ``arrax.errors.JaxRuntimeError``.",
    },
    "arrax.example_libraries.optimizers": {
        "Schedule": "A function from the number of a step to the size of the step.\n\nExample: ``schedule = arrax.example_libraries.optimizers.constant(0.1); schedule(7)`` is 0.1.",
    },
    "arrax.example_libraries.stax": {
        "Conv": "``GeneralConv`` of images with the axes NHWC. Example: ``init, apply = stax.Conv(4, (3, 3)); init(key, (1, 8, 8, 3))[0]`` is ``(1, 6, 6, 4)``.",
        "Conv1DTranspose": "``GeneralConvTranspose`` of sequences with the axes NHC. Example: ``init, apply = stax.Conv1DTranspose(4, (3,)); init(key, (1, 8, 3))[0]`` is ``(1, 10, 4)``.",
        "ConvTranspose": "``GeneralConvTranspose`` of images with the axes NHWC. Example: ``init, apply = stax.ConvTranspose(4, (3, 3)); init(key, (1, 8, 8, 3))[0]`` is ``(1, 10, 10, 4)``.",
        "Elu": "Layer of ``nn.elu``. " + _layer("Elu", "[0.0, 1.0, 2.0, 3.0]"),
        "Exp": "Layer of ``jnp.exp``. " + _layer("Exp", "[1.0, 2.71828, 7.38906, 20.0855]"),
        "FanInSum": "Layer that adds its inputs. " + _layer("FanInSum", "[0.0, 2.0, 4.0, 6.0]", "[x, x]"),
        "Flatten": "Layer that makes a vector of each example. " + _layer("Flatten", "[[0.0, 1.0, 2.0, 3.0]]", "x.reshape(1, 2, 2)"),
        "Gelu": "Layer of ``nn.gelu``. " + _layer("Gelu", "nn.gelu(x)"),
        "Identity": "Layer that gives what it gets. " + _layer("Identity", "[0.0, 1.0, 2.0, 3.0]"),
        "Layer": "A layer: ``(init, apply)``, where ``init(key, input_shape)`` gives ``(output_shape, params)``.\n\nExample: ``init, apply = stax.Dense(2); init(key, (1, 4))[0]`` is ``(1, 2)``.",
        "LeakyRelu": "Layer of ``nn.leaky_relu``. " + _layer("LeakyRelu", "[0.0, 1.0, 2.0, 3.0]"),
        "LogSoftmax": "Layer of ``nn.log_softmax`` along the last axis. " + _layer("LogSoftmax", "nn.log_softmax(x)"),
        "Relu": "Layer of ``nn.relu``. " + _layer("Relu", "[0.0, 0.0, 1.0, 2.0]", "x - 1"),
        "Selu": "Layer of ``nn.selu``. " + _layer("Selu", "nn.selu(x)"),
        "Sigmoid": "Layer of ``nn.sigmoid``. " + _layer("Sigmoid", "nn.sigmoid(x)"),
        "Softmax": "Layer of ``nn.softmax`` along the last axis. " + _layer("Softmax", "nn.softmax(x)"),
        "Softplus": "Layer of ``nn.softplus``. " + _layer("Softplus", "nn.softplus(x)"),
        "Tanh": "Layer of ``jnp.tanh``. " + _layer("Tanh", "jnp.tanh(x)"),
    },
    "arrax.sharding": {
        "GSPMDSharding": "How an array lies on devices, in the words of the compiler: such shardings come out of compiled functions.\n\nExample: ``sharding = arrax.sharding.GSPMDSharding.get_replicated(arrax.devices()[:1]); sharding.is_fully_replicated`` is True.",
        "Sharding": "The base of all shardings: how an array lies on devices.\n\nExample: ``isinstance(x.sharding, arrax.sharding.Sharding)`` is True.",
        "SingleDeviceSharding": "An array that lies on one device.\n\nArgs:\n  device: the device.\n  memory_kind: name of a kind of its memory, by default its own.\nExample: ``sharding = arrax.sharding.SingleDeviceSharding(arrax.devices()[0]); arrax.device_put(x, sharding).sharding == sharding`` is True.",
    },
    "arrax.stages": {
        "CompilerOptions": "Options of XLA by name, as ``compile`` takes them.\n\nExample: ``arrax.jit(jnp.sin).lower(x).compile(compiler_options={'xla_cpu_enable_fast_math': False})`` compiles with one.",
    },
    "arrax.tree_util": {
        "DictKey": "A step of a path in a tree: the key of a dict.\n\nArgs:\n  key: the key.\nExample: ``[(path, leaf)] = arrax.tree.leaves_with_path({'a': 1}); path[0].key`` is ``'a'``.",
        "FlattenedIndexKey": "A step of a path in a tree: the number of a child of a node that does not name its children.\n\nArgs:\n  key: the number.\nExample: ``arrax.tree_util.FlattenedIndexKey(0).key`` is 0.",
        "GetAttrKey": "A step of a path in a tree: the name of an attribute, as of named tuples and dataclasses.\n\nArgs:\n  name: the name.\nExample: ``arrax.tree_util.keystr((arrax.tree_util.GetAttrKey('weight'),))`` is ``'.weight'``.",
        "KeyEntry": "The type variable of the steps of a path. Example: ``path = (arrax.tree_util.SequenceKey(0),); arrax.tree_util.keystr(path)`` is ``'[0]'``.",
        "KeyPath": "A path to a leaf of a tree: a tuple of steps.\n\nExample: ``[(path, leaf)] = arrax.tree.leaves_with_path({'a': [1]}); arrax.tree_util.keystr(path)`` is ``\"['a'][0]\"``.",
        "PyTreeDef": "The structure of a tree, without its leaves.\n\nExample: ``structure = arrax.tree.structure({'a': 1, 'b': (2, 3)}); structure.num_leaves`` is 3.",
        "SequenceKey": "A step of a path in a tree: the index in a list or tuple.\n\nArgs:\n  idx: the index.\nExample: ``[(path, leaf)] = arrax.tree.leaves_with_path([7]); path[0].idx`` is 0.",
        "default_registry": "Which classes are nodes of trees, and how they are taken apart.\n\nExample: ``leaves, structure = arrax.tree_util.default_registry.flatten([1, (2, 3)]); leaves`` is ``[1, 2, 3]``.",
    },
    "arrax.experimental.checkify": {
        "ErrorCategory": "The type of kinds of errors: classes of exceptions. Sets of them say what ``checkify`` looks for. Example: ``from arrax.experimental import checkify; [kind.__name__ for kind in checkify.nan_checks]`` is ['NaNError'].",
        "all_checks": "Every check: of users, of numbers and of indices. Example: ``arrax.experimental.checkify.nan_checks <= arrax.experimental.checkify.all_checks`` is True.",
        "automatic_checks": "The checks that are made without a call of ``check``: of numbers and indices. Example: ``from arrax.experimental import checkify; error, value = checkify.checkify(jnp.log, errors=checkify.automatic_checks)(-1.0); bool(error.get())`` is True.",
        "div_checks": "The check of divisions by zero. Example: ``from arrax.experimental import checkify; error, value = checkify.checkify(jnp.divide, errors=checkify.div_checks)(1.0, 0.0); bool(error.get())`` is True.",
        "float_checks": "The checks of NaNs and of divisions by zero. Example: ``from arrax.experimental import checkify; checkify.float_checks == checkify.nan_checks | checkify.div_checks`` is True.",
        "index_checks": "The check of indices that are out of bounds. Example: ``from arrax.experimental import checkify; error, value = checkify.checkify(lambda i: x[i], errors=checkify.index_checks)(9); bool(error.get())`` is True.",
        "init_error": "The error of a program in which nothing has gone wrong. Example: ``arrax.experimental.checkify.init_error.get()`` is None.",
        "nan_checks": "The check of results that are NaN. Example: ``from arrax.experimental import checkify; error, value = checkify.checkify(jnp.log, errors=checkify.nan_checks)(-1.0); bool(error.get())`` is True.",
        "user_checks": "The check of ``check``, the default. Example: ``from arrax.experimental import checkify; error, value = checkify.checkify(jnp.log, errors=checkify.user_checks)(-1.0); error.get()`` is None.",
    },
    "arrax.profiler": {
        "ProfileData": "A trace that was written, to be read: planes (a device or a thread pool each) of lines of events.\n\nExample: ``import pathlib; arrax.profiler.start_trace('trace'); jnp.sin(x); arrax.profiler.stop_trace(); [path] = pathlib.Path('trace').rglob('*.xplane.pb'); data = arrax.profiler.ProfileData.from_file(str(path)); names = [plane.name for plane in data.planes]``.",
        "ProfileEvent": "An event of a trace: ``name``, ``start_ns`` and ``duration_ns`` (nanoseconds), ``stats``.\n\nExample: ``data = arrax.profiler.ProfileData.from_serialized_xspace(b''); events = [event for plane in data.planes for line in plane.lines for event in line.events]; len(events)`` is 0.",
        "ProfileOptions": "What a trace records.\n\nExample: ``options = arrax.profiler.ProfileOptions(); options.python_tracer_level = 0; options.host_tracer_level`` is 2.",
        "ProfilePlane": "A part of a trace: what happened on one device, or in the threads of the host.\n\nExample: ``data = arrax.profiler.ProfileData.from_serialized_xspace(b''); len([plane.name for plane in data.planes])`` is 0.",
    },
    "arrax.experimental.pjit": {
        "UNSPECIFIED": "Stands for a sharding that nobody asked for: the compiler chooses. Example: ``from arrax.experimental import pjit; pjit.pjit(jnp.sin, out_shardings=pjit.UNSPECIFIED)(y)`` is 0.909297.",
    },
    "arrax.distributed": {
        "global_state": "What this process knows of the others. Example: ``arrax.distributed.global_state.process_id`` is 0.",
    },
    "arrax.typing": {
        "ArrayLike": "What functions take as arrays: arrays, NumPy's arrays and scalars, Python's numbers.\n\nExample: ``isinstance(1.5, arrax.typing.ArrayLike)`` is True.",
    },
    "arrax.experimental.mesh_utils": {
        "device_kind_handler_dict": "By the kind of a device, the function that orders such devices in a grid: ``(mesh_shape, devices) -> ndarray of devices, or None``.\n\nExample: ``from arrax.experimental import mesh_utils; mesh_utils.device_kind_handler_dict['my chip'] = lambda shape, devices, **_: np.reshape(devices, shape); del mesh_utils.device_kind_handler_dict['my chip']``.",
    },
    "arrax.experimental.custom_partitioning": {
        "BATCHING": "Stands for any number of leading axes in the rules of ``SdyShardingRule``. Example: ``arrax.experimental.custom_partitioning.BATCHING`` is ``'...'``.",
        "custom_partitioning_p": "The operation of functions with partitions of their own. Example: ``f = arrax.experimental.custom_partitioning.custom_partitioning(jnp.sin); f.def_partition(infer_sharding_from_operands=lambda *a: None, partition=lambda *a: None, sharding_rule='i -> i'); str(make_jaxpr(f)(x).eqns[0].primitive)`` is ``'custom_partitioning'``.",
    },
    "arrax.extend.core": {
        "array_types": "The classes whose values are arrays. Example: ``type(x) in arrax.extend.core.array_types or isinstance(x, tuple(arrax.extend.core.array_types))`` is True.",
        "no_effects": "The effects of pure programs: none. Example: ``make_jaxpr(jnp.sin)(y).effects == arrax.extend.core.no_effects`` is True.",
    },
    "arrax.util": {
        "wraps": "``functools.wraps``: a decorator that gives a function the name and docstring of another.\n\nArgs:\n  wrapped: the other function.\nExample: ``call = arrax.util.wraps(jnp.sin)(lambda x: x); call.__name__`` is ``'sin'``.",
    },
}
# fmt: on
# Names that have no example that runs here, and why.
WITHOUT = {
    **dict.fromkeys(("core_call_p", "call_p", "closed_call_p"), "programs that are read in from elsewhere hold it"),
    **dict.fromkeys(("infeed", "outfeed", "psend", "precv"), "the other end is another program or device"),
    **dict.fromkeys(
        ("register_pytree_node_class", "register_pytree_with_keys_class"), "a decorator: the example is above a class"
    ),
    "smap": "a decorator that needs several devices to show something",
    "register_subprocess": "it needs another process",
    "select_and_scatter_p": "no public function makes it: serialized programs hold it",
    "logger": "the standard library's",
}


def program(name: str) -> str | None:
    """The code that gives a program with the primitive ``name_p``, or None."""
    code = PROGRAMS.get(name) or _own_example(getattr(lax, name, None) or getattr(lax.linalg, name, None))
    if code is None:
        return None
    axes = ", axis_env=[('i', 2)]" if "'i'" in code else ""
    return f"arrax.make_jaxpr(lambda: {code}{axes})()"


def _own_example(function: Any) -> str | None:
    """The example of a function, where it is one expression."""
    found = re.search(r"Example: ``(.+?)``(.*)", getattr(function, "__doc__", None) or "", re.S)
    code = inspect.cleandoc(" " + found.group(1)) if found else ""
    statements = ast.parse(code).body if found and "…" not in code else []
    return code if len(statements) == 1 and isinstance(statements[0], ast.Expr) and "``" not in code else None


def text(place: str, own: str) -> str:
    """The docstring of a public name: its value's own one, that of a table here, or both."""
    module, _, name = place.rpartition(".")
    ours = EXAMPLES.get(module, {}).get(name, "")
    return f"{own}\n\n{ours}".strip() if ours.startswith("Example:") else ours or own


def primitive_text(name: str, primitive: Primitive) -> str:
    """The docstring of a primitive."""
    code = program(name.removesuffix("_p"))
    own = name.removesuffix("_p")
    source = next(
        (f"{room}{own}" for room, names in (("lax.", lax), ("lax.linalg.", lax.linalg)) if hasattr(names, own)), None
    )
    head = f"The operation ``{primitive.name}`` of programs" + (f": what ``{source}`` stands for." if source else ".")
    return f"{head}\n\nExample: ``{code}`` is a program with it." if code else head

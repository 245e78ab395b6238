"""Private modules that have the names of public ones: programs import from them, often because an editor wrote the import."""

from __future__ import annotations

# private module: public ones, those of arrax
_TABLE = """
ad_checkpoint: ad_checkpoint
ad_util: interpreters.ad
api: arrax, tree_util
api_util: api_util
array: sharding
basearray: arrax
buffer_callback: experimental.buffer_callback
callback: arrax, experimental
checkify: experimental.checkify
compilation_cache: experimental.compilation_cache.compilation_cache
config: arrax
core: core, extend.core
custom_batching: custom_batching
custom_derivatives: arrax
debugging: debug
distributed: distributed
dlpack: dlpack
dtypes: dtypes
environment_info: arrax
errors: errors
export:
export._export: export
export.shape_poly: export
ffi: ffi
flatten_util: flatten_util
image:
image.scale: image
interpreters:
interpreters.ad: interpreters.ad
interpreters.batching: interpreters.batching
interpreters.mlir: interpreters.mlir
interpreters.partial_eval: interpreters.partial_eval
interpreters.pxla: interpreters.pxla
lax:
lax.ann: lax
lax.control_flow: lax
lax.control_flow.conditionals: lax
lax.control_flow.loops: lax
lax.control_flow.solves: lax
lax.convolution: lax
lax.fft: lax
lax.lax: lax
lax.linalg: lax.linalg
lax.other: lax
lax.parallel: lax
lax.slicing: lax
lax.special: lax
lax.windowed_reductions: lax
layout: experimental.layout
linear_util: extend.linear_util
mesh: sharding
mesh_utils: experimental.mesh_utils
monitoring: monitoring
named_sharding: sharding
nn:
nn.functions: nn
nn.initializers: nn.initializers
numpy:
numpy.array_creation: numpy
numpy.einsum: numpy
numpy.fft: numpy.fft
numpy.index_tricks: numpy
numpy.indexing: numpy
numpy.lax_numpy: numpy
numpy.linalg: numpy.linalg
numpy.polynomial: numpy
numpy.reductions: numpy
numpy.scalar_types: numpy
numpy.setops: numpy
numpy.sorting: numpy
numpy.tensor_contractions: numpy
numpy.ufunc_api: numpy
numpy.ufuncs: numpy
numpy.util: numpy
numpy.vectorize: numpy
numpy.window_functions: numpy
ops:
ops.scatter: ops
pallas:
pallas.core: experimental.pallas
pallas.pallas_call: experimental.pallas
pallas.primitives: experimental.pallas
partition_spec: sharding
pjit: arrax, sharding
profiler: profiler
public_test_util: test_util
random: random
ref: ref
scipy:
scipy.cluster:
scipy.cluster.vq: scipy.cluster.vq
scipy.fft: scipy.fft
scipy.integrate: scipy.integrate
scipy.linalg: scipy.linalg
scipy.ndimage: scipy.ndimage
scipy.optimize: scipy.optimize
scipy.optimize.minimize: scipy.optimize
scipy.signal: scipy.signal
scipy.sparse:
scipy.sparse.linalg: scipy.sparse.linalg
scipy.spatial:
scipy.spatial.transform: scipy.spatial.transform
scipy.special: scipy.special
scipy.stats: scipy.stats
scipy.stats.kde: scipy.stats
scipy.stats.norm: scipy.stats.norm
shard_map: arrax
sharding: sharding
sharding_impls: sharding
source_info_util: extend.source_info_util
stages: stages
test_util: test_util
tree: tree
tree_util: tree_util
typing: typing, arrax
xla_bridge: arrax, extend.backend
xla_metadata: experimental.xla_metadata
"""


def _full(name: str) -> str:
    return name if name == "arrax" else f"arrax.{name}"


def _read(table: str) -> dict[str, tuple[str, ...]]:
    rows = (line.partition(":")[::2] for line in table.split("\n") if line)
    return {f"jax._src.{private}": tuple(map(_full, publics.replace(",", "").split())) for private, publics in rows}


PUBLIC = _read(_TABLE) | {
    f"jax.experimental.sparse.{part}": ("arrax.experimental.sparse",)
    for part in ("ad", "api", "bcoo", "bcsr", "coo", "csr", "random", "transform", "util")
}

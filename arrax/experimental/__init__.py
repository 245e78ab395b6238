"""Experimental modules, which load on first use."""

from arrax.core.late_names import late_names
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.effectful_callbacks import io_callback as io_callback

__getattr__, __dir__, __all__ = late_names(
    __name__,
    {
        "arrax.experimental.x64_context": ("disable_x64", "enable_x64"),
        "arrax.interpreters.high_operations": ("cur_qdd",),
        "arrax.numpy_api.represented_arrays": ("EArray", "primal_tangent_dtype"),
    },
    submodules=(
        "array_api", "array_serialization", "buffer_callback", "checkify", "colocated_python", "compilation_cache", "compute_on", "custom_partitioning", "export",
        "host_callback", "jet", "key_reuse", "layout", "maps", "mesh_utils", "multihost_utils", "ode", "pallas", "pjit", "rnn", "serialize_executable", "shard_alike",
        "shard_map", "sparse", "topologies", "x64_context", "xla_metadata",
    ),
)  # fmt: skip

_bound_names(__name__)

"""For libraries that extend arrax. Modules that load on first use."""

from arrax.core.late_names import late_names

__getattr__, __dir__, __all__ = late_names(
    __name__,
    {},
    submodules=(
        "backend",
        "core",
        "ffi",
        "interpreters",
        "linear_util",
        "mlir",
        "random",
        "sharding",
        "source_info_util",
    ),
)

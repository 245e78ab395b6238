"""Writes the table of ``configuration.md``: every option. Run as ``python -m docs.settings_table``."""

from __future__ import annotations

import pathlib
import re

from arrax.core.options import Option, options

PAGE = pathlib.Path(__file__).parent / "configuration.md"

# What JAX 0.10.2 says (``jax.config.values``) where it differs; all options that it has besides have the same default.
JAX_DEFAULTS = {
    "compilation_cache_max_size": "-1",
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "persistent_cache_min_compile_time_secs": "1.0",
    "softmax_custom_jvp": "False",
    "threefry_partitionable": "True",
    "traceback_in_locations_limit": "100",
}
NOT_IN_JAX = {
    "array_api_strict", "coordinator_address", "cpu_enable_gloo_collectives", "cpu_kernels", "default_dtype_bits", "enable_custom_vjp_by_custom_transpose",
    "host_callback_inline", "host_callback_legacy", "host_callback_max_queue_byte_size", "memory_cache_max_size", "num_processes",
    "process_id", "serialization_version", "recompilation_count", "recompilation_seconds", "recompilation_warnings",
}  # fmt: skip


def row(name: str, option: Option) -> str:
    """The line of an option."""
    default = "" if option.default is None else f"`{option.default}`"
    jax = "no such option" if name in NOT_IN_JAX else f"`{JAX_DEFAULTS[name]}`" if name in JAX_DEFAULTS else "the same"
    values = f": one of {', '.join(f'`{one}`' for one in option.choices)}" if 0 < len(option.choices) <= 6 else ""
    return f"| `{name}`{'*' if option.in_key else ''} | `ARRAX_{name.upper()}` | {default} | {jax} | {option.doc}{values} |"


def table() -> str:
    """The table."""
    rows = [row(name, option) for name, option in sorted(options.items())]
    head = ["| option | environment variable | default | JAX's default | meaning |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(re.sub(r"^\| option \|.*?(?=^$|\Z)", lambda _: table(), PAGE.read_text(), flags=re.M | re.S))

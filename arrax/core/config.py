"""The settings, each with its type, its default, and whether compiled functions depend on it (see ``core/options.py``)."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from arrax import native
from arrax.core.completion import complete_package
from arrax.core.options import Option, environment, options
from arrax.dtypes.canonical import warn_user
from arrax.dtypes.settings import settings as dtype_settings
from arrax.dtypes.wording import shown
from arrax.native import runtime

_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32", "fastest", "BF16_BF16_F32",
    "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "F32_F32_F32", "F64_F64_F64", "TF32_TF32_F32",
    "TF32_TF32_F32_X3", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
)  # fmt: skip
_GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
_PROMOTIONS = ("allow", "warn", "raise")
_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


def _guard(guarded: str, levels: str = "TransferGuardLevel") -> Callable[[str | None, bool], None]:
    """Hand a guard's level to the runtime, which enforces it: for this thread, or for all without one of their own."""

    def apply(level: str | None, local: bool) -> None:
        guards = runtime.guard_lib
        state = guards.thread_local_state() if local else guards.global_state()
        setattr(state, guarded, None if level is None else getattr(getattr(guards, levels), level.upper()))

    return apply


# Not an option: True while any interpreter but plain evaluation is current, so that compiled functions never answer for it.
tracing = runtime.Config("arrax_tracing", False, include_in_jit_key=True, include_in_trace_context=False)
post_hook = runtime.Config("arrax_post_hook", None)
# Not an option either: True in forked processes (``xla/forking.py``).
forked = runtime.Config("arrax_forked", False, include_in_jit_key=True, include_in_trace_context=False)


_PLATFORMS = ("cpu", "cuda", "gpu", "oneapi", "rocm", "tpu")
further_platforms: list[Callable[[], Iterable[str]]] = []  # functions that give the names of plugins' platforms


def known_platforms() -> set[str]:
    """The names of platforms, those of plugins among them."""
    complete_package()  # which finds the names of plugins
    return {*_PLATFORMS, *(name for names in further_platforms for name in names())}


def is_platform(name: str) -> bool:
    """Whether a platform is known; those of plugins are looked for where it is none of the others."""
    return name in _PLATFORMS or name in known_platforms()


class _DefaultDevice(Option):
    """An option whose value is a device, or the name of a platform."""

    __slots__ = ()

    def check(self, value: Any) -> Any:
        if not isinstance(value, str | runtime.Device | None):
            raise ValueError(
                f"config option {self.name!r} takes a device or the name of a platform, got {shown(value)}"
            )
        if isinstance(value, str) and not is_platform(value):
            raise ValueError(
                f"config option {self.name!r} takes a device or the name of a platform "
                f"({', '.join(sorted(known_platforms()))}), got {shown(value)}"
            )
        return value


class _DisableJit(Option):
    """An option whose value has a name of its own."""

    __slots__ = ()

    def __call__(self, disable: bool = True) -> AbstractContextManager[None]:
        return super().__call__(disable)


class Widths:
    """Whether both settings for 64-bit types have been in force: only then may a program be of the other one."""

    both = False
    _chosen: bool | None = None

    def note(self, value: Any, local: bool) -> None:
        """A setting comes into force, in a context or for good."""
        self.both = self.both or local or self._chosen not in (None, value)
        self._chosen = value


widths = Widths()

# fmt: off
enable_x64              = Option("enable_x64", bool, False, "keep 64-bit types instead of truncating them to 32 bits", in_key=True, on_change=widths.note)
disable_jit             = _DisableJit("disable_jit", bool, False, "run every operation at once, in Python order; loops and conditionals in Python")
debug_nans              = Option("debug_nans", bool, False, "raise FloatingPointError where a result is NaN", in_key=True)
debug_infs              = Option("debug_infs", bool, False, "raise FloatingPointError where a result is infinite", in_key=True)
check_tracer_leaks      = Option("check_tracer_leaks", bool, False, "raise as soon as a traced function leaves a tracer behind", in_key=True)
enable_checks           = Option("enable_checks", bool, False, "type-check every program made by tracing")
log_compiles            = Option("log_compiles", bool, False, "log each tracing and compilation at warning level")
recompilation_warnings  = Option("recompilation_warnings", str, "warn", "what to do about a function that is compiled again and again", choices=("off", "warn", "error"))
recompilation_count     = Option("recompilation_count", int, 10, "how many recompilations of one function are too many")
recompilation_seconds   = Option("recompilation_seconds", float, 5.0, "seconds that recompilations of one function take in all, below which none are too many")
explain_cache_misses    = Option("explain_cache_misses", bool, False, "log why a jitted function is traced again")
no_tracing              = Option("no_tracing", bool, False, "raise where a jitted function would be traced again")
numpy_rank_promotion    = Option("numpy_rank_promotion", str, "allow", "what to do where ranks are promoted implicitly", choices=_PROMOTIONS, in_key=True)
numpy_dtype_promotion   = Option("numpy_dtype_promotion", str, "standard", "type promotion rules: standard or strict", choices=("standard", "strict"), in_key=True)
default_matmul_precision = Option("default_matmul_precision", str, None, "precision of matrix products and convolutions", choices=_PRECISIONS, in_key=True)
default_device          = _DefaultDevice("default_device", object, None, "the device (or platform) of uncommitted computations", in_key=True)
default_prng_impl       = Option("default_prng_impl", str, "threefry2x32", "the generator behind new keys", choices=_GENERATORS, in_key=True)
threefry_partitionable  = Option("threefry_partitionable", bool, False, "draw each value from its own counter", in_key=True)
enable_custom_prng      = Option("enable_custom_prng", bool, False, "PRNGKey makes typed keys", in_key=True)
legacy_prng_key         = Option("legacy_prng_key", str, "allow", "what to do where raw keys are used", choices=("allow", "warn", "error"))
debug_key_reuse         = Option("debug_key_reuse", bool, False, "raise KeyReuseError where a key is consumed twice", in_key=True)
softmax_custom_jvp      = Option("softmax_custom_jvp", bool, True, "a numerically careful derivative of softmax", in_key=True)
enable_custom_vjp_by_custom_transpose = Option("enable_custom_vjp_by_custom_transpose", bool, False, "accepted, without effect")
traceback_filtering     = Option("traceback_filtering", str, "auto", "hide internal frames from tracebacks", choices=("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"))
platforms               = Option("platforms", str, None, "comma-separated platforms to start, the first is the default")
platform_name           = Option("platform_name", str, None, "an older name of platforms: one platform")
enable_compilation_cache = Option("enable_compilation_cache", bool, True, "keep compiled programs on disk")
compilation_cache_dir   = Option("compilation_cache_dir", str, None, "folder of compiled programs (default: the user's cache folder)")
compilation_cache_max_size = Option("compilation_cache_max_size", int, 2 << 30, "bytes of compiled programs kept on disk, -1 for no bound")
persistent_cache_min_compile_time_secs = Option("persistent_cache_min_compile_time_secs", float, 0.0, "programs that compile faster are not stored")
persistent_cache_min_entry_size_bytes = Option("persistent_cache_min_entry_size_bytes", int, 0, "smaller programs are not stored")
memory_cache_max_size   = Option("memory_cache_max_size", int, 256 << 20, "bytes, about, of compiled programs kept in memory for functions to come, -1 for no bound")
raise_persistent_cache_errors = Option("raise_persistent_cache_errors", bool, False, "raise instead of warning when the disk cache fails")
persistent_cache_enable_xla_caches = Option("persistent_cache_enable_xla_caches", str, None, "accepted, without effect")
compilation_cache_include_metadata_in_key = Option("compilation_cache_include_metadata_in_key", bool, False, "compile programs anew that differ only in where they come from")
default_dtype_bits      = Option("default_dtype_bits", str, "64", "accepted for compatibility", choices=("32", "64"))
cpu_kernels             = Option("cpu_kernels", bool, True, "on the CPU, let programs call NumPy to sort, search and count", in_key=True)
transfer_guard_host_to_device   = Option("transfer_guard_host_to_device", str, None, "guard of transfers to a device", choices=_GUARDS, on_change=_guard("host_to_device"))
transfer_guard_device_to_device = Option("transfer_guard_device_to_device", str, None, "guard of transfers between devices", choices=_GUARDS, on_change=_guard("device_to_device"))
transfer_guard_device_to_host   = Option("transfer_guard_device_to_host", str, None, "guard of transfers to the host", choices=_GUARDS, on_change=_guard("device_to_host"))
array_garbage_collection_guard  = Option("array_garbage_collection_guard", str, None, "whether arrays that only the garbage collector frees are logged, or end the process", choices=("allow", "log", "fatal"), on_change=_guard("garbage_collect_array", "GarbageCollectionGuardLevel"))
hlo_source_file_canonicalization_regex = Option("hlo_source_file_canonicalization_regex", str, None, "what to cut from file names in locations")
traceback_in_locations_limit = Option("traceback_in_locations_limit", int, 10, "frames kept in a location")
include_full_tracebacks_in_locations = Option("include_full_tracebacks_in_locations", bool, True, "whole call stacks in locations")
cpu_collectives_implementation = Option("cpu_collectives_implementation", str, "gloo", "collectives between CPU processes; None is none", choices=("gloo", "mpi", "none"), nullable=True)
coordinator_address     = Option("coordinator_address", str, None, "of process 0 and its port: what distributed.initialize() reads where no launcher is found")
num_processes           = Option("num_processes", int, None, "how many processes there are: likewise")
process_id              = Option("process_id", int, None, "the number of this process: likewise")
num_cpu_devices         = Option("num_cpu_devices", int, -1, "number of virtual CPU devices, before the first use")
cpu_enable_async_dispatch = Option("cpu_enable_async_dispatch", bool, True, "programs on CPU may run in the background")
array_api_strict        = Option("array_api_strict", bool, False, "accepted, without effect")
host_callback_inline    = Option("host_callback_inline", bool, False, "accepted: functions on the host run in the caller's thread where operations run at once")
host_callback_legacy    = Option("host_callback_legacy", bool, False, "accepted, without effect")
host_callback_max_queue_byte_size = Option("host_callback_max_queue_byte_size", int, 256_000_000, "accepted: there is no queue")
use_shardy_partitioner  = Option("use_shardy_partitioner", bool, True, "partition programs with Shardy")
cpu_enable_gloo_collectives = Option("cpu_enable_gloo_collectives", bool, False, "accepted: cpu_collectives_implementation says which")
cuda_visible_devices    = Option("cuda_visible_devices", str, "all", "numbers of the CUDA devices to use, with commas between them, before the first use")
export_calling_convention_version = Option("export_calling_convention_version", int, 10, "how exported programs are to be called: 9 or 10")
serialization_version   = Option("serialization_version", int, 10, "an older name of export_calling_convention_version: accepted, without effect")
threefry_gpu_kernel_lowering = Option("threefry_gpu_kernel_lowering", bool, False, "accepted, without effect")
dump_ir_to              = Option("dump_ir_to", str, None, "folder for the programs as they are compiled")
# fmt: on

# Not an option: the meshes in force, a ``core.meshes.MeshState`` or None.
mesh = runtime.Config("arrax_mesh", None, include_in_jit_key=True, include_in_trace_context=True)

dtype_settings.x64_enabled = lambda: enable_x64.cell.value
dtype_settings.promotion_mode = lambda: numpy_dtype_promotion.cell.value


def transfers_guarded() -> bool:
    """Whether transfers are logged or forbidden in some direction, here or anywhere."""
    to_device, between, to_host = transfer_guard.directions
    return not (to_device.cell.value is None and between.cell.value is None and to_host.cell.value is None)


@contextmanager
def _guard_state(name: str, value: Any) -> Iterator[None]:
    """This thread's state of the runtime's guard, changed for a while; without guards nobody looks at it."""
    if not transfers_guarded():
        yield
        return
    state = runtime.guard_lib.thread_local_state()
    before = getattr(state, name)
    setattr(state, name, value)
    try:
        yield
    finally:
        setattr(state, name, before)


def copy_in_place() -> AbstractContextManager[None]:
    """What is copied where it lies is no transfer between devices, though the runtime copies it as if it was."""
    return _guard_state("device_to_device", runtime.guard_lib.TransferGuardLevel.ALLOW)


def own_transfer() -> AbstractContextManager[None]:
    """What the package puts on a device on its own account, as where an iteration begins, is no transfer of the user's."""
    return _guard_state("host_to_device", runtime.guard_lib.TransferGuardLevel.ALLOW)


def explicit_transfer(direction: str) -> AbstractContextManager[None]:
    """What the user asked for by name: guarded only at the ``…_explicit`` levels. ``direction`` is "put" or "get"."""
    return _guard_state(f"explicit_device_{direction}", True)


class _TransferGuard(Option):
    """All three directions of the transfer guard at once, as an option."""

    __slots__ = ()
    directions = (transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host)

    def __init__(self) -> None:
        super().__init__("transfer_guard", str, None, "guard of transfers in all directions", choices=_GUARDS)
        if self.value is not None:
            for option in self.directions:
                if environment(option.name) is None:
                    option.set_global(self.value)

    @contextmanager
    def _inside(self, value: Any) -> Iterator[None]:
        to_device, between, to_host = self.directions
        with super()._inside(value), to_device(value), between(value), to_host(value):
            yield

    def set_global(self, value: Any) -> None:
        super().set_global(value)
        for option in self.directions:
            option.set_global(value)


transfer_guard = _TransferGuard()


def _letters_apart(first: str, second: str) -> int:
    one, other = Counter(first), Counter(second)
    return (one - other).total() + (other - one).total()


def _likely(misspelt: str, known: Iterable[str]) -> str:
    """The known name that a misspelt one is near to, or the empty text."""
    nearest = min(known, key=lambda name: _letters_apart(misspelt, name))
    return nearest if _letters_apart(misspelt, nearest) < 4 else ""


def _warn_of_unknown_variables() -> None:
    known = {f"ARRAX_{name.upper()}" for name in options}
    for variable in sorted(name for name in os.environ if name.startswith("ARRAX_") and name not in known):
        likely = _likely(variable, known)
        warn_user(f"environment variable {variable} is no option of arrax{likely and f': did you mean {likely}?'}")


class Configuration:
    """``arrax.config``: read options as attributes, set them with ``update``.

    Example: ``arrax.config.update("jax_enable_x64", True)`` or ``arrax.config.enable_x64``.
    """

    def _option(self, name: str) -> Option:
        short = name.removeprefix("arrax_").removeprefix("jax_")
        if short in options:
            return options[short]
        likely = _likely(short, options)
        advice = f"did you mean {likely}?" if likely else f"known options: {', '.join(sorted(options))}"
        raise AttributeError(f"unrecognized config option {name!r}; {advice}")

    def update(self, name: str, val: Any) -> None:
        """Set the option ``name`` (with or without the prefix ``jax_`` or ``arrax_``) for all threads."""
        self._option(name).set_global(val)

    def is_set(self, name: str) -> bool:
        """Whether the option ``name`` has another value than its default, or one from the environment."""
        option = self._option(name)
        return option.value != option.default or environment(option.name) is not None

    def read(self, name: str) -> Any:
        """The value of the option ``name`` in force."""
        return self._option(name).value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._option(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        self._option(name).set_global(value)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *(f"{prefix}{name}" for name in options for prefix in ("", "jax_"))])

    @property
    def x64_enabled(self) -> bool:
        """Whether there are 64-bit types: ``enable_x64``."""
        return self._option("enable_x64").value

    @property
    def values(self) -> dict[str, Any]:
        """All options and their values, under their documented names."""
        return {f"jax_{name}": option.value for name, option in options.items()}

    def config_with_absl(self) -> None:
        """Define every option as an absl flag, ``--jax_NAME``; ``absl.app.run`` takes over what it parses."""
        flags = native.absl_flags.flags
        for name, option in options.items():
            flag, value = f"jax_{name}", option.value
            if flag in flags.FLAGS:
                continue
            if option.kind is bool:
                flags.DEFINE_bool(flag, value, option.doc)
            elif option.choices:
                flags.DEFINE_enum(flag, value, list(option.choices), option.doc)
            else:
                flags.DEFINE_string(flag, None if value is None else str(value), option.doc)
        native.absl_flags.app.call_after_init(self.complete_absl_config)

    def complete_absl_config(self, absl_flags: Any = None) -> None:
        """Take over the values that absl parsed."""
        flags = (native.absl_flags.flags if absl_flags is None else absl_flags).FLAGS
        for name, option in options.items():
            flag = flags[f"jax_{name}"] if f"jax_{name}" in flags else None
            if flag is not None and flag.present:
                option.set_global(flag.value if option.kind is bool else option.parse(flag.value))

    def parse_flags_with_absl(self) -> None:
        """Take options given as ``--jax_NAME=value`` on the command line, leaving the rest for the program.

        In programs that use absl its flags have values from then on.
        """
        given_here = []
        for argument in sys.argv[1:]:
            name, given, text = argument.removeprefix("--").partition("=")
            short = name.removeprefix("jax_")
            if argument.startswith("--jax_") and short in options:
                option = options[short]
                option.set_global(option.parse(text) if given else True)
                given_here.append(argument)
        if "absl.flags" in sys.modules and not native.absl_flags.flags.FLAGS.is_parsed():
            self.config_with_absl()
            native.absl_flags.flags.FLAGS([sys.argv[0], *given_here], known_only=True)


config = Configuration()
_warn_of_unknown_variables()

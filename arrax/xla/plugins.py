"""GPU and TPU plugins: found by their entry points and packages, loaded without importing their own start-up code."""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
import pathlib
import pkgutil
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from arrax.core import config
from arrax.native import runtime
from arrax.xla import startup

_LIBRARIES = ("xla_cuda_plugin.so", "xla_rocm_plugin.so", "pjrt_c_api_gpu_plugin.so")
# fmt: off
_NVIDIA = (  # package below nvidia.*, libraries: loaded first, so that the plugin finds those that pip installed
    ("cuda_runtime", ("libcudart.so.12",)), ("cu13", ("libcudart.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcusolver.so.12", "libcufft.so.12")),
    ("cublas", ("libcublasLt.so.12", "libcublas.so.12")), ("nccl", ("libnccl.so.2",)), ("cuda_cupti", ("libcupti.so.12",)),
    ("cusparse", ("libcusparse.so.12",)), ("cusolver", ("libcusolver.so.11",)), ("cufft", ("libcufft.so.11",)),
    ("cudnn", ("libcudnn.so.9",)), ("cuda_nvrtc", ("libnvrtc.so.12",)),
)
# fmt: on
_GROUP = "jax_plugins"  # of entry points, and the name of a package
_GPU_KERNELS = ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse")


def _optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def plugin_modules() -> Iterator[str]:
    """Names of plugin modules: those of the namespace package ``jax_plugins``, and entry points of that group."""
    spec = importlib.util.find_spec(_GROUP)
    if spec is not None and spec.submodule_search_locations:
        for module in pkgutil.iter_modules(spec.submodule_search_locations):
            yield f"{_GROUP}.{module.name}"
    if _may_have_entries(_GROUP):
        metadata = importlib.import_module("importlib.metadata")  # slow to import, and rarely needed
        for entry in metadata.entry_points(group=_GROUP):
            yield entry.value


def _may_have_entries(group: str) -> bool:
    """Whether any installed distribution may have entry points of a group: False where all have been looked at."""
    if any(hasattr(each, "find_distributions") for each in sys.meta_path if each is not PathFinder):
        return True
    return any(_mentions(folder or os.curdir, f"[{group}]") for folder in sys.path)


def _mentions(folder: str, section: str) -> bool:
    """Whether an entry of the import path is an archive, or has a distribution whose entry points have a section."""
    if os.path.isfile(folder):
        return True
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        if name.lower().endswith((".dist-info", "egg-info")):
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    if section.encode() in file.read():
                        return True
            except OSError:
                continue  # it has none
    return False


def library_of(module: str) -> str | None:
    """The shared library beside a plugin module, which is not imported."""
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        return None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for name in _LIBRARIES:
            if (pathlib.Path(place) / name).exists():
                return str(pathlib.Path(place) / name)
    return None


def _preload_nvidia() -> None:
    for package, libraries in _NVIDIA:
        module = _optional(f"nvidia.{package}")
        if module is None:
            continue
        for library in libraries:
            try:
                ctypes.cdll.LoadLibrary(str(pathlib.Path(module.__path__[0]) / "lib" / library))
            except OSError:
                continue  # not in this wheel: the system's may serve


def _register_kernels(c_api: Any) -> None:
    """Custom-call targets of the plugin's extension: its handler, then its types, then its targets."""
    client = runtime.xla_client
    extension = next(filter(None, (_optional(f"jax_cuda{n}_plugin.cuda_plugin_extension") for n in (13, 12))), None)
    if extension is None:
        return
    client.register_custom_type_handler("CUDA", functools.partial(extension.register_custom_type, c_api))
    client.register_custom_call_handler("CUDA", functools.partial(extension.register_custom_call_target, c_api))
    for name, value in extension.ffi_types().items():
        client.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        client.register_custom_call_target(name, value, platform="CUDA", api_version=1)
    for platform, name, value, version in runtime.gpu_kernels(_GPU_KERNELS):
        client.register_custom_call_target(name, value, platform=platform, api_version=version)


def visible_devices(numbers: str) -> dict[str, list[int]]:
    """The option of a plugin that says which devices it uses; none for all of them.

    Args:
      numbers: with commas between them, or ``"all"``.
    Raises:
      ValueError: something else.
    """
    if numbers == "all":
        return {}
    try:
        return {"visible_devices": [int(number) for number in numbers.split(",") if number.strip()]}
    except ValueError:
        raise ValueError(
            f"cuda_visible_devices must be 'all' or numbers with commas between them, got {numbers!r}"
        ) from None


def _start_cuda(path: str) -> Any:
    client = runtime.xla_client
    _preload_nvidia()
    if not client.pjrt_plugin_loaded("cuda"):
        c_api = client.load_pjrt_plugin_dynamically("cuda", path)
        _register_kernels(c_api)
    if not client.pjrt_plugin_initialized("cuda"):
        client.initialize_pjrt_plugin("cuda")
    options, distributed = dict(client.generate_pjrt_gpu_plugin_options()), None
    options.update(visible_devices(config.cuda_visible_devices.value))
    for find in startup.plugin_options:
        more, distributed = find()
        options.update(more)
    return client.make_c_api_client("cuda", options, distributed)


def _start_tpu() -> Any:
    client, library = runtime.xla_client, _optional("libtpu")
    if library is None:
        raise RuntimeError("libtpu is not installed")
    if not client.pjrt_plugin_loaded("tpu"):
        client.load_pjrt_plugin_dynamically("tpu", library.get_library_path())
    if not client.pjrt_plugin_initialized("tpu"):
        client.initialize_pjrt_plugin("tpu")
    return client.make_c_api_client("tpu", {}, None)


def find_plugins() -> None:
    """Add the starters of the plugins that are installed."""
    for module in plugin_modules():
        path = library_of(module)
        if path is not None and "cuda" in path:
            startup.starters.setdefault("cuda", functools.partial(_start_cuda, path))
    if importlib.util.find_spec("libtpu") is not None:
        startup.starters.setdefault("tpu", _start_tpu)


startup.discover.append(find_plugins)

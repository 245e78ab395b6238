"""Exported functions as bytes: a head in JSON, the program, and the same of the derivative."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from arrax import dtypes
from arrax.core.pytree_nodes import registered_nodes
from arrax.core.pytrees import PyTreeDef, tree_structure
from arrax.core.symbolic_shapes import SymbolicScope, symbolic_shape
from arrax.core.types import ShapedArray
from arrax.dtypes.extended_dtypes import named_dtypes
from arrax.dtypes.wording import shown
from arrax.interpreters.lowering.symbol_values import scopes_of
from arrax.native import runtime

if TYPE_CHECKING:
    from arrax.transforms.exporting import Exported


Class = TypeVar("Class", bound=type)
MAGIC = b"arrax.export\x00"
FORMAT = 1  # of what follows; bytes of later formats are refused


class NodeFormat(NamedTuple):
    """How instances of a class of nodes are written.

    Attributes:
      name: what stands for the class. write, read: its static data to bytes and back.
      build: from static data and children to an instance.
    """

    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any]


_formats: dict[type, NodeFormat] = {}
_classes: dict[str, type] = {}


def _register(nodetype: type, form: NodeFormat) -> None:
    if nodetype in _formats:
        raise ValueError(
            f"Duplicate serialization registration for type `{nodetype}`. Previous registration was with serialized_name "
            f"`{_formats[nodetype].name}`."
        )
    if form.name in _classes:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name `{form.name}`. Previous registration was for type "
            f"`{_classes[form.name]}`."
        )
    _formats[nodetype], _classes[form.name] = form, nodetype


def register_pytree_node_serialization(
    nodetype: Class, *, serialized_name: str, serialize_auxdata: Callable[[Any], bytes | bytearray],
    deserialize_auxdata: Callable[[bytes], Any], from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> Class:  # fmt: skip
    """Let exported functions whose arguments or results hold instances of a class of nodes be serialized.

    Args:
      nodetype: a class that is registered as a node of pytrees.
      serialized_name: what stands for it, which must not change.
      serialize_auxdata, deserialize_auxdata: its static data to bytes and back.
      from_children: from static data and children to an instance; by default as it was registered.
    Returns: ``nodetype``.
    Raises:
      ValueError: not a node of pytrees, or a class or name that has been registered.
    Example: ``Pair = type('Pair', (tuple,), {}); register_pytree_node(Pair, lambda p: (p, None), lambda _, each: Pair(each));
    keep = dict(serialize_auxdata=lambda _: b'', deserialize_auxdata=lambda _: None)
    arrax.export.register_pytree_node_serialization(Pair, serialized_name='mine.Pair', **keep)``.
    """
    known = registered_nodes.get(nodetype)
    if known is None:
        raise ValueError(f"register_pytree_node_serialization: {nodetype} is not registered as a node of pytrees")
    build = from_children or known.from_iter

    def write(data: Any) -> bytes:
        return bytes(serialize_auxdata(data))

    _register(nodetype, NodeFormat(serialized_name, write, deserialize_auxdata, build))
    return nodetype


def register_namedtuple_serialization(nodetype: Class, *, serialized_name: str) -> Class:
    """Let exported functions whose arguments or results hold named tuples of a class be serialized.

    Args:
      nodetype: the class.
      serialized_name: what stands for it, which must not change.
    Returns: ``nodetype``.
    Raises:
      ValueError: not a class of named tuples, or a class or name that has been registered.
    Example: ``import collections; Point = collections.namedtuple('Point', 'x y');
    arrax.export.register_namedtuple_serialization(Point, serialized_name='mine.Point') is Point`` is True.
    """
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"register_namedtuple_serialization: {shown(nodetype)} is not a class of named tuples")

    def read(data: bytes) -> type[Any]:
        fields = json.loads(data)
        if fields != list(nodetype._fields):
            raise ValueError(
                f"the fields of {nodetype} were {fields} when it was serialized, and are {nodetype._fields} now"
            )
        return nodetype

    def write(_: Any) -> bytes:
        return json.dumps(nodetype._fields).encode()

    _register(nodetype, NodeFormat(serialized_name, write, read, lambda _, children: nodetype(*children)))
    return nodetype


# ---- structures, types, shardings ---------------------------------------------------------------------------------------


def _write_tree(tree: PyTreeDef) -> Any:
    data = tree.node_data()
    if data is None:
        return "*"
    kind, static = data
    children = list(map(_write_tree, tree.children()))
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return [kind.__name__, children]
    if kind is dict:
        if not all(isinstance(key, str) for key in static):
            raise ValueError(
                f"serialize: dictionaries among arguments and results must have texts for keys, got {static}"
            )
        return ["dict", list(static), children]
    form = _formats.get(kind)
    if form is None:
        named = issubclass(kind, tuple) and hasattr(kind, "_fields")
        how = "register_namedtuple_serialization" if named else "register_pytree_node_serialization"
        raise ValueError(
            f"serialize: nothing says how instances of {kind} are written: register the class by export.{how}"
        )
    return ["node", form.name, base64.b64encode(form.write(static)).decode(), children]


def _read_tree(entry: Any) -> Any:
    """A tree of such a structure, with some leaves."""
    if entry == "*":
        return 0
    if entry is None:
        return None
    kind, *rest = entry
    children = list(map(_read_tree, rest[-1]))
    if kind == "tuple":
        return tuple(children)
    if kind == "list":
        return children
    if kind == "dict":
        return dict(zip(rest[0], children, strict=True))
    name, data = rest[:2]
    if name not in _classes:
        raise ValueError(f"deserialize: no class is registered under the serialized_name `{name}`")
    form = _formats[_classes[name]]
    return form.build(form.read(base64.b64decode(data)), children)


def _write_type(aval: ShapedArray) -> list[Any]:
    dtype = aval.dtype
    name = "float0" if dtype == dtypes.float0 else dtype.name
    return [[length if isinstance(length, int) else str(length) for length in aval.shape], name, aval.weak_type]


def _read_type(entry: Sequence[Any], scope: SymbolicScope) -> ShapedArray:
    lengths, name, weak = entry
    shape = symbolic_shape(", ".join(map(str, lengths)), scope=scope)
    if name == "float0":
        return ShapedArray(shape, dtypes.float0)
    if name in named_dtypes:
        return ShapedArray(shape, named_dtypes[name])
    return ShapedArray(shape, dtypes.to_dtype(name), weak)


def _write_sharding(sharding: Any) -> str | None:
    return None if sharding is None else base64.b64encode(sharding.to_proto().SerializeToString()).decode()


def _read_sharding(text: str | None) -> Any:
    if text is None:
        return None
    proto = runtime.OpSharding()
    proto.ParseFromString(base64.b64decode(text))
    return runtime.HloSharding.from_proto(proto)


# ---- the whole ----------------------------------------------------------------------------------------------------------


def to_bytes(exported: Exported, vjp_order: int) -> bytes:
    """An exported function, and its derivatives up to an order, as bytes."""
    head = {
        "format": FORMAT, "fun_name": exported.fun_name, "in_tree": _write_tree(exported.in_tree),
        "out_tree": _write_tree(exported.out_tree), "in_avals": list(map(_write_type, exported.in_avals)),
        "out_avals": list(map(_write_type, exported.out_avals)),
        "in_shardings_hlo": list(map(_write_sharding, exported.in_shardings_hlo)),
        "out_shardings_hlo": list(map(_write_sharding, exported.out_shardings_hlo)), "nr_devices": exported.nr_devices,
        "platforms": exported.platforms, "disabled_safety_checks": list(map(str, exported.disabled_safety_checks)),
        "calling_convention_version": exported.calling_convention_version,
        "constraints": [text for scope in scopes_of(exported.in_avals) for text in scope.constraints],
        "module_kept_var_idx": exported.module_kept_var_idx, "uses_global_constants": exported.uses_global_constants,
    }  # fmt: skip
    derivative = to_bytes(exported.vjp(), vjp_order - 1) if vjp_order else b""
    parts = [json.dumps(head).encode(), exported.mlir_module_serialized, derivative]
    return MAGIC + b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def from_bytes(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The attributes of the exported function that bytes stand for, and the bytes of its derivative, which may be none.

    Raises:
      ValueError: other bytes, those of a later version, or classes of nodes that are not registered.
    """
    parts, offset = [], len(MAGIC)
    try:
        if not data.startswith(MAGIC):
            raise ValueError("they do not begin as such bytes do")
        for _ in range(3):
            (size,) = struct.unpack_from("<Q", data, offset)
            parts.append(data[offset + 8 : offset + 8 + size])
            offset += 8 + size
        if offset != len(data):
            raise ValueError(f"there are {len(data)} of {offset} bytes")
        head = json.loads(parts[0])
    except (ValueError, struct.error) as error:
        raise ValueError(f"deserialize: these are no bytes of an exported function: {error}") from None
    try:
        if head["format"] > FORMAT:
            raise ValueError(
                f"deserialize: bytes of the format {head['format']}, of which this version knows up to {FORMAT}"
            )
        _read_attributes(head)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"deserialize: the bytes of this exported function are damaged: {error!r}") from None
    return {**head, "mlir_module_serialized": parts[1]}, parts[2]


def _read_attributes(head: dict[str, Any]) -> None:
    """Put the attributes themselves in the place of what stands for them."""
    for name in ("in_tree", "out_tree"):
        head[name] = tree_structure(_read_tree(head[name]))
    scope = SymbolicScope(head.pop("constraints"))
    for name, read in (("avals", lambda entry: _read_type(entry, scope)), ("shardings_hlo", _read_sharding)):
        for side in ("in", "out"):
            head[f"{side}_{name}"] = tuple(map(read, head[f"{side}_{name}"]))
    for name in ("platforms", "module_kept_var_idx", "disabled_safety_checks"):
        head[name] = tuple(head[name])
    del head["format"]

"""Shardings as the compiler writes them, for libraries that extend arrax."""

from __future__ import annotations

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.native import runtime
from arrax.native import runtime as _runtime
from arrax.xla.shardings import GSPMDSharding as GSPMDSharding

XlaOpShardingProto = _runtime.OpSharding


def get_op_sharding_from_serialized_proto(sharding: bytes) -> runtime.OpSharding:
    """The message that bytes hold: a sharding as XLA's protocol buffers describe it.

    Example: ``from arrax.extend import sharding;
    sharding.get_op_sharding_from_serialized_proto(sharding.XlaOpShardingProto().SerializeToString())``.
    """
    message = XlaOpShardingProto()
    message.ParseFromString(sharding)
    return message


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> runtime.HloSharding:
    """The sharding of XLA that bytes hold.

    Example: ``from arrax.extend import sharding;
    sharding.get_hlo_sharding_from_serialized_proto(sharding.XlaOpShardingProto().SerializeToString()).is_replicated()``
    is True.
    """
    return _runtime.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: runtime.HloSharding) -> bytes:
    """The bytes that ``get_hlo_sharding_from_serialized_proto`` reads.

    Args:
      sharding: of XLA.
    Example: ``from arrax.extend import sharding; empty = sharding.XlaOpShardingProto().SerializeToString();
    sharding.get_serialized_proto_from_hlo_sharding(sharding.get_hlo_sharding_from_serialized_proto(empty))``.
    """
    return sharding.to_proto().SerializeToString()


_bound_names(__name__)

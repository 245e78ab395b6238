"""What lowering rules know: of the module that is made, and of the equation that is lowered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.name_stacks import Names
from arrax.core.program import ClosedJaxpr, JaxprEqn
from arrax.interpreters.lowering.locations import NOWHERE, Locations
from arrax.xla.host_kernels import table as host_kernels

if TYPE_CHECKING:
    from arrax.core.effects import Effect
    from arrax.core.interpreter import Primitive
    from arrax.core.manual_regions import Region
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir


class TokenSet:
    """The tokens of ordered effects: what an operation comes after, or what comes after it.

    Args:
      tokens: by effect.
    Example: ``from arrax.interpreters import mlir; mlir.TokenSet().items()`` is ``()``.
    """

    def __init__(self, tokens: Mapping[Effect, Value] | None = None) -> None:
        self._tokens = dict(tokens or {})

    def get(self, effect: Effect) -> Value:
        """The token of an effect.

        Raises:
          KeyError: it has none.
        """
        return self._tokens[effect]

    def items(self) -> tuple[tuple[Effect, Value], ...]:
        """Effects and their tokens."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Effect]:
        """The effects."""
        return set(self._tokens)

    def subset(self, effects: Iterable[Effect]) -> TokenSet:
        """The tokens of some effects."""
        return TokenSet({effect: self._tokens[effect] for effect in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """These tokens, replaced by others for the effects that these have."""
        return TokenSet({**self._tokens, **tokens._tokens})


class ModuleContext:
    """What the rules of one module share."""

    __slots__ = (
        "module", "platform", "platforms", "functions", "names", "host_callbacks", "locations", "origin",
        "keepalives", "num_devices", "program", "with_kernels", "calls_kernels", "devices", "mesh", "meshes",
        "manual", "manual_axes", "channels", "sharding_groups", "latest_calls", "runs_users", "portable",
    )  # fmt: skip

    def __init__(self, module: ir.Module, platform: str, num_devices: int = 1, with_kernels: bool = False) -> None:
        self.module, self.platform = module, platform
        self.platforms: tuple[str, ...] = (platform,)
        self.functions: dict[Any, Any] = {}
        self.names: dict[str, int] = {}
        # The kernels of our own come first, whether called or not: their numbers are the same in every program.
        self.host_callbacks: list[Any] = list(host_kernels.ENTRIES) if with_kernels else []
        self.with_kernels, self.calls_kernels = with_kernels, False
        self.runs_users = False  # whether functions of users are called while the program runs
        self.keepalives: list[Any] = []
        self.program: ClosedJaxpr | None = None  # the whole one, in the platform's form
        self.num_devices = num_devices
        self.portable = False  # whether others may call the program: elsewhere, or over several devices
        self.locations = Locations(module)
        self.origin = NOWHERE  # what is being lowered
        self.devices: Any = None  # the devices of a program for several, in the order of its partitions
        self.mesh: Any = None  # the mesh whose axes describe how values lie, or None
        self.meshes: dict[str, str] = {}  # the symbol of each mesh that stands in the module
        self.manual: Region | None = None  # where the program is per device
        self.manual_axes: frozenset[Any] | None = None  # these, with those of all programs per device around it
        self.sharding_groups = 0  # how many groups of values are laid out alike
        self.latest_calls: dict[ir.Block, Value] = {}  # the token after the latest call of a block that only watches
        self.channels = 0  # how many collectives have a channel of their own

    @property
    def undivided(self) -> bool:
        """Whether the program is never divided over several devices."""
        return self.num_devices == 1 and not self.portable

    @property
    def of_this_process(self) -> bool:
        """Whether the program holds functions of this process beside the host kernels, so that no other process can run it."""
        return len(self.host_callbacks) > (len(host_kernels.ENTRIES) if self.with_kernels else 0)

    def add_keepalive(self, value: object) -> None:
        """Keep an object as long as the program."""
        self.keepalives.append(value)

    def show_as(self, name: str) -> None:
        """Let ``name`` stand for the primitive that is being lowered in the names of what is made from here on."""
        if self.origin is not NOWHERE:
            self.origin = (*self.origin[:2], name)
            self.locations.record.append(self.origin)

    def fresh_name(self, name: str) -> str:
        """A symbol that is not taken yet."""
        name = re.sub(r"[^\w.-]", "_", name) or "function"
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if count == 0 else f"{name}_{count - 1}"


class LoweringContext:
    """What a lowering rule knows besides its operands."""

    __slots__ = ("module_context", "primitive", "avals_in", "avals_out", "name_stack", "tokens", "eqn")

    def __init__(
        self, module_context: ModuleContext, primitive: Primitive, avals_in: Sequence[Any], avals_out: Sequence[Any],
        name_stack: Names = (), tokens: TokenSet | None = None, eqn: JaxprEqn | None = None,
    ) -> None:  # fmt: skip
        self.module_context, self.primitive, self.name_stack = module_context, primitive, name_stack
        self.avals_in, self.avals_out, self.tokens, self.eqn = avals_in, avals_out, tokens, eqn

    @property
    def platform(self) -> str:
        """The platform that is lowered for."""
        return self.module_context.platform

    dim_var_values: tuple[Any, ...] = ()
    tokens_in = property(lambda self: self.tokens, doc="Tokens of ordered effects.")
    tokens_out = property(lambda self: self.tokens, doc="Tokens of ordered effects, after the operation.")

    def set_tokens_out(self, tokens: TokenSet) -> None:
        """Say which tokens there are after the operation: a ``TokenSet``."""
        self.tokens = tokens

    def replace(self, **changes: Any) -> LoweringContext:
        """A copy with some fields replaced."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return LoweringContext(**{**fields, **changes})

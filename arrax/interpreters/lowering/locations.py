"""Where the operations of a module come from: names of scopes and transformations, and the user's lines.

A program is looked up by its content, so its module is made without locations. What they are is only noted, in one
list; they are put in where the module is compiled or read.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from arrax import native
from arrax.core import config
from arrax.core.caches import cleared_by
from arrax.core.calls import is_internal
from arrax.core.functions import printable
from arrax.core.name_stacks import stack_text
from arrax.interpreters.lowering import builder
from arrax.xla.modules import bytecode_of

if TYPE_CHECKING:
    from arrax.core.program import JaxprEqn
    from arrax.native.mlir import ir

# Frames that no user wrote: between those of this package, and what Python begins a program with (``python -m``).
_NOBODYS = frozenset((contextlib.__file__, functools.__file__, "<frozen runpy>"))


# What operations are lowered from: the equation; what holds its program (an origin, or a text in front of all names); and
# what stands for the name of its primitive, if anything does. Plain tuples: one is made per equation.
Origin = tuple[Any, Any, Any]
NOWHERE: Origin = (None, "", None)
LIBRARY = "library"  # in place of what holds a program: a function of the library, whose lines are no user's


def is_users(inside: str | tuple[JaxprEqn, str, str] | None) -> bool:
    """Whether the lines of equations are a user's, given what holds their program."""
    while isinstance(inside, tuple):
        inside = inside[1]
    return inside is not None and inside is not LIBRARY


class Locations:
    """The operations of a module, in the order in which they were made, and what they are lowered from.

    Attributes:
      record: operations, and before those of an origin, it.
    """

    __slots__ = ("module", "record", "arguments", "_plain", "_lock")

    def __init__(self, module: Any) -> None:
        self.module = module
        self.record: list[Any] = []
        self.arguments: tuple[Any, Sequence[str]] = (None, ())  # the block of the program, and names of its arguments
        self._plain: bytes | None = None
        self._lock = threading.Lock()

    def plain_bytecode(self) -> bytes:
        """The module without locations."""
        with self._lock:
            return self._read_plain()

    def full_bytecode(self) -> bytes:
        """The module with locations."""
        self.put_in()
        return bytecode_of(self.module)

    def text(self) -> str:
        """The module with locations, as text."""
        self.put_in()
        return self.module.operation.get_asm(enable_debug_info=True)

    def copy(self) -> ir.Module:
        """Another module of the same program, with locations."""
        return native.mlir.ir.Module.parse(self.full_bytecode(), builder.ir_context())

    def put_in(self) -> None:
        """Give all operations their locations."""
        with self._lock:
            if self.record:
                self._read_plain()
                self._put_in()
                self.record = []

    def _read_plain(self) -> bytes:
        if self._plain is None:
            self._plain = bytecode_of(self.module)
        return self._plain

    def _put_in(self) -> None:
        ir, texts = native.mlir.ir, dict[int, str]()
        origin, location = NOWHERE, None
        with builder.ir_context():
            places, unknown = _places(), ir.Location.unknown()
            for noted in self.record:
                if type(noted) is tuple:
                    origin, location = noted, None
                elif origin is not NOWHERE:
                    if location is None:
                        traceback = origin[0].source_info.traceback
                        known = traceback is not None and is_users(origin[1])
                        place = places.get(traceback) if known else unknown
                        location = ir.Location.name(printable(_text(origin, texts)), place)
                    noted.location = location
            block, names = self.arguments
            if block is not None:
                for argument, name in zip(block.arguments, names, strict=False):
                    if name:
                        argument.set_location(ir.Location.name(printable(name), unknown))


def _text(origin: Origin, texts: dict[int, str]) -> str:
    """The name of an operation with all that is around it: ``jit(f)/jvp(layer)/while/body/sin``."""
    eqn, inside, name = origin
    if isinstance(inside, tuple):
        around = texts.get(id(inside))
        if around is None:
            around = texts[id(inside)] = _text(inside, texts)
    else:
        around = "" if inside is LIBRARY else inside
    name = eqn.primitive.name if name is None else name
    names = eqn.source_info.names
    text = stack_text((*names, name)) if name.endswith(")") else "/".join(filter(None, (stack_text(names), name)))
    return f"{around}/{text}" if around and text else around or text


def _places() -> Any:
    """What turns tracebacks into locations, as the options say."""
    whole, limit = config.include_full_tracebacks_in_locations.value, config.traceback_in_locations_limit.value
    return _places_for(limit if whole else 1, config.hlo_source_file_canonicalization_regex.value)


@functools.lru_cache(8)
def _places_for(limit: int, cut: str | None) -> Any:
    @functools.cache
    def file_of(code: CodeType) -> str | None:
        """The file of a frame, None for those that are not shown."""
        path = code.co_filename
        if is_internal(path) or path in _NOBODYS:
            return None
        return printable(path if cut is None else re.sub(cut, "", path))

    return native.mlir.extension.TracebackToLocationCache(code_to_filename=file_of, frame_limit=limit)


cleared_by(_places_for.cache_clear)


@contextlib.contextmanager
def noted_in(locations: Locations) -> Iterator[None]:
    """Note the operations that the block makes."""
    before, builder.recorder.note = builder.recorder.note, locations.record.append
    try:
        yield
    finally:
        builder.recorder.note = before

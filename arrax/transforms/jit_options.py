"""What a user asks of a jitted function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from arrax.dtypes.wording import shown
from arrax.native import runtime
from arrax.transforms.arguments import resolve
from arrax.transforms.sharding_arguments import checked_shardings, sharding_key
from arrax.xla.devices import client_of
from arrax.xla.shardings import UNSPECIFIED

Numbers = int | Sequence[int] | None  # positions of arguments
Names = str | Iterable[str] | None  # names of arguments


class JitOptions:
    """What the user asked of a jitted function."""

    __slots__ = (
        "static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "keep_unused", "inline", "device",
        "compiler_options", "eager", "in_shardings", "out_shardings", "over_entered_mesh",
    )  # fmt: skip

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    keep_unused: bool | None
    inline: bool
    device: Any
    compiler_options: dict[str, Any] | None
    eager: bool
    in_shardings: Any
    out_shardings: Any
    over_entered_mesh: bool  # whether calls that nothing binds to devices run over the mesh of ``with mesh:``, too

    def __init__(self, **fields: Any) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, fields.get(name))

    def key(self) -> tuple[Any, ...]:
        """What two jitted functions of one function must share to share compiled calls."""
        options = tuple(sorted((self.compiler_options or {}).items()))
        return (
            self.static_argnums, self.static_argnames, self.donate_argnums, self.donate_argnames, self.keep_unused,
            self.inline, self.device, options, self.eager, sharding_key(self.in_shardings), sharding_key(self.out_shardings),
            self.over_entered_mesh,
        )  # fmt: skip

    def replace(self, **fields: Any) -> JitOptions:
        """The options with some of them replaced."""
        return JitOptions(**{**{name: getattr(self, name) for name in self.__slots__}, **fields})

    @property
    def asks_for_shardings(self) -> bool:
        """Whether the user said how arguments or results lie."""
        return self.in_shardings is not None or self.out_shardings is not None


def checked_options(
    fun: Callable[..., Any], *, in_shardings: Any, out_shardings: Any, static_argnums: Numbers, static_argnames: Names,
    donate_argnums: Numbers, donate_argnames: Names, keep_unused: bool, device: Any, backend: str | None, inline: bool,
    compiler_options: dict[str, Any] | None, over_entered_mesh: bool = False,
) -> JitOptions:  # fmt: skip
    """The options of a call of ``jit``, whose arguments these are.

    Raises:
      TypeError: ``fun`` is no function that can be compiled, or an option is something else.
      ValueError: options that exclude one another, numbers or names of arguments that ``fun`` does not have.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {shown(fun)}")
    if isinstance(fun, staticmethod):
        raise TypeError(f"jit: a staticmethod is no function yet: put the decorator below @staticmethod, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")
    static_numbers, static_names = resolve(fun, "static", static_argnums, static_argnames)
    donate_numbers, donate_names = resolve(fun, "donate", donate_argnums, donate_argnames)
    by_number = ("argnums", set(static_numbers) & set(donate_numbers))
    by_name = ("argnames", set(static_names) & set(donate_names))
    for which, common in (by_number,) if static_argnames is donate_argnames is None else (by_name, by_number):
        if common:
            raise ValueError(f"static_{which} and donate_{which} cannot intersect, both name {sorted(common)}")
    checked_shardings("in_shardings", in_shardings)
    checked_shardings("out_shardings", out_shardings)
    in_shardings, out_shardings = (None if s is UNSPECIFIED else s for s in (in_shardings, out_shardings))
    if (backend is not None or device is not None) and (in_shardings is not None or out_shardings is not None):
        raise ValueError("If backend or device is specified on jit, then in_shardings and out_shardings should not be")
    if backend is not None and device is not None:
        raise ValueError(f"jit: device and backend cannot both be given, got device={device!r} and backend={backend!r}")
    if device is not None and not isinstance(device, runtime.Device):
        raise TypeError(f"jit: device must be a device, such as arrax.devices()[0], got {shown(device)}")
    if backend is not None:
        device = client_of(backend).local_devices()[0]
    return JitOptions(
        static_argnums=static_numbers, static_argnames=static_names, donate_argnums=donate_numbers,
        donate_argnames=donate_names, keep_unused=bool(keep_unused), inline=bool(inline), device=device,
        compiler_options=compiler_options, eager=False, in_shardings=in_shardings, out_shardings=out_shardings,
        over_entered_mesh=over_entered_mesh,
    )  # fmt: skip

"""Programs: Var, Literal, JaxprEqn, Jaxpr and ClosedJaxpr, the typed language that tracing records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax.core.name_stacks import Names, NameStack
from arrax.core.types import ShapedArray, typeof

if TYPE_CHECKING:
    from arrax.core.function_info import FunctionInfo
    from arrax.core.interpreter import Primitive

Effects = frozenset[Any]
no_effects: Effects = frozenset()
ParamDict = dict[str, Any]


class Var:
    """A variable of a program. Variables are equal only to themselves.

    Example: ``program = make_jaxpr(lambda x: 2.0 * jnp.sin(x))(y); program.jaxpr.invars[0].aval.shape`` is ``()``.
    """

    __slots__ = ("aval", "__weakref__")

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short(False)}"


class DropVar(Var):
    """The variable of a result that nobody uses; printed as ``_``.

    Example: ``program = make_jaxpr(lambda x: lax.top_k(x, 1)[0])(x); print(program)`` shows it as ``_``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class SpareVar(Var):
    """An input that a program takes only to fit beside others, such as branches; printed with an underscore."""

    __slots__ = ()


class Literal:
    """A scalar constant that stands in the program itself.

    Example: ``program = make_jaxpr(lambda x: 2.0 * jnp.sin(x))(y); program.eqns[1].invars[0].val`` is 2.0.
    """

    __slots__ = ("val", "aval", "__weakref__")

    def __init__(self, val: Any, aval: ShapedArray | None = None):
        self.val = val
        self.aval = typeof(val) if aval is None else aval

    def __repr__(self) -> str:
        return str(self.val)


Atom = Var | Literal


class SourceInfo(NamedTuple):
    """Where an equation comes from: the Python traceback, and the scopes and transformations around it in its program.

    Example: ``program = make_jaxpr(arrax.named_scope("layer")(jnp.sin))(y); str(program.eqns[0].source_info.name_stack)`` is
    ``'layer'``.
    """

    traceback: Any
    names: Names = ()

    @property
    def name_stack(self) -> NameStack:
        """The names, whose text is as profiles show it."""
        return NameStack(self.names)


no_source = SourceInfo(None)


class JaxprEqn:
    """One step of a program: ``outvars = primitive[params] invars``.

    Attributes:
      invars: variables and literals. outvars: variables.
      primitive: the operation. params: its parameters, by name.
      effects: what it does beside its results. source_info: where it comes from.
    Example: ``program = make_jaxpr(lambda x: 2.0 * jnp.sin(x))(y);
    [equation.primitive.name for equation in program.eqns]`` is ``['sin', 'mul']``.
    """

    __slots__ = ("invars", "outvars", "primitive", "params", "effects", "source_info")

    def __init__(
        self,
        invars: Sequence[Any],
        outvars: Sequence[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: Effects = no_effects,
        source_info: SourceInfo = no_source,
        ctx: Any = None,  # accepted: operations hold their settings as parameters
    ) -> None:
        self.invars, self.outvars, self.primitive, self.params = invars, outvars, primitive, params
        self.effects, self.source_info = effects, source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        """A copy with some fields replaced."""
        return JaxprEqn(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def __repr__(self) -> str:
        return format_eqn(self)


def new_jaxpr_eqn(
    invars: Sequence[Any], outvars: Sequence[Var], primitive: Primitive, params: dict[str, Any], effects: Iterable[Any],
    source_info: SourceInfo | None = None, ctx: Any = None,
) -> JaxprEqn:  # fmt: skip
    """A step of a program.

    Args:
      invars: variables and literals. outvars: variables.
      primitive: the operation. params: its parameters, by name.
      effects: what it does beside its results.
      source_info: where it comes from.
      ctx: accepted, without effect.
    Example: ``eqn = make_jaxpr(jnp.sin)(y).eqns[0];
    str(arrax.extend.core.new_jaxpr_eqn(eqn.invars, eqn.outvars, lax.cos_p, eqn.params, eqn.effects).primitive)`` is
    ``'cos'``.
    """
    return JaxprEqn(list(invars), list(outvars), primitive, dict(params), frozenset(effects), source_info or no_source)


def gensym() -> Callable[[Any], Var]:
    """A function that makes variables of types, each a new one.

    Example: ``fresh = arrax.extend.core.gensym(); fresh(arrax.typeof(x)).aval.shape`` is ``(4,)``.
    """
    return Var


class _Program:
    """How programs show themselves, and that nobody changes them."""

    __slots__ = ()

    replace: Callable[..., Any]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a program cannot be changed: jaxpr.replace({name}=...) gives a changed copy")

    def __copy__(self) -> _Program:
        return self.replace()

    def pretty_print(
        self, *, source_info: bool = False, print_shapes: bool = True, custom_pp_eqn_rules: bool = True,
        name_stack: bool = False, print_effects: bool = False, use_color: bool = False,
    ) -> str:  # fmt: skip
        """The program as text.

        Args:
          source_info: whether each equation has the user's line beside it. name_stack: the scopes and transformations.
          print_shapes: whether variables have their types. print_effects: whether programs have their effects.
          use_color: whether the text has the codes for colours in terminals.
          custom_pp_eqn_rules: accepted, without effect.
        Example: ``print(arrax.make_jaxpr(jnp.sin)(1.).pretty_print(source_info=True))``.
        """
        return printers.jaxpr(
            self, source_info=source_info, print_shapes=print_shapes, name_stack=name_stack,
            print_effects=print_effects, use_color=use_color,
        )  # fmt: skip

    def __repr__(self) -> str:
        return printers.jaxpr(self)

    __str__ = __repr__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython prints: in colours where it writes to a terminal."""
        printer.text(printers.shown(self))

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return printers.html(self)

    def __rich__(self) -> str:
        """What ``rich`` prints."""
        return printers.rich(self)


_FIELDS = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")


class Jaxpr(_Program):
    """A program: constants, inputs, equations, outputs. It has no free variables.

    Attributes:
      constvars, invars: variables. outvars: variables and literals.
      eqns: the equations, in order. effects: what they do beside their results.
      debug_info: what messages say of the function that it was made of.
    Example: ``program = make_jaxpr(lambda x: 2.0 * jnp.sin(x))(y); len(program.jaxpr.eqns)`` is 2.
    """

    __slots__ = (*_FIELDS, "widths", "__weakref__")
    constvars: list[Var]
    invars: list[Var]
    outvars: list[Any]
    eqns: list[JaxprEqn]
    effects: Effects
    debug_info: Any
    widths: frozenset[bool | None] | None  # what interpreters/recorded_widths.py finds out of its equations

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Any],
        eqns: Sequence[JaxprEqn],
        effects: Effects = no_effects,
        debug_info: FunctionInfo | None = None,
    ) -> None:
        fields = (list(constvars), list(invars), list(outvars), list(eqns), effects, debug_info)
        for name, value in zip((*_FIELDS, "widths"), (*fields, None), strict=True):
            object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some fields replaced."""
        return Jaxpr(**{**{name: getattr(self, name) for name in _FIELDS}, **changes})

    @property
    def in_avals(self) -> list[Any]:
        """Types of the inputs."""
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        """Types of the outputs."""
        return [atom.aval for atom in self.outvars]


ABSENT, _ITSELF = object(), object()


class ClosedJaxpr(_Program):
    """A program with the values of its constants. ``memo`` keeps programs derived from it alive with it.

    Attributes:
      jaxpr: the program. consts: the values of its ``constvars``.
    Example: ``program = make_jaxpr(lambda v: v + x)(y); program.consts[0]`` is ``[0.0, 1.0, 2.0, 3.0]``.
    """

    __slots__ = ("jaxpr", "consts", "_memo", "__weakref__")
    jaxpr: Jaxpr
    consts: list[Any]
    _memo: dict[Any, Any]

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        if len(jaxpr.constvars) != len(consts):
            raise ValueError(f"program has {len(jaxpr.constvars)} constants, got {len(consts)} values")
        for name, value in (("jaxpr", jaxpr), ("consts", list(consts)), ("_memo", {})):
            object.__setattr__(self, name, value)

    def memo(self, key: Any, make: Callable[..., Any], *args: Any) -> Any:
        """``make(*args)``, computed once for this program and ``key``: derived programs live as long as it does."""
        found = self.kept(key)
        return self.keep(key, make(*args)) if found is ABSENT else found

    def kept(self, key: Any) -> Any:
        """What is kept under a key, or ABSENT. To ask, and to ``keep`` then, takes fewer frames of a deep nest than ``memo``."""
        found = self._memo.get(key, ABSENT)
        return self if found is _ITSELF else found

    def keep(self, key: Any, made: Any) -> Any:
        """Keep something under a key, and return it."""
        self._memo[key] = _ITSELF if made is self else made  # not itself, which would keep it alive
        return made

    def replace(self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        """A copy with some fields replaced."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    in_avals = property(lambda self: self.jaxpr.in_avals, doc="Types of the inputs.")
    out_avals = property(lambda self: self.jaxpr.out_avals, doc="Types of the outputs.")
    constvars = property(lambda self: self.jaxpr.constvars, doc="The variables of the constants.")
    invars = property(lambda self: self.jaxpr.invars, doc="The variables of the inputs.")
    outvars = property(lambda self: self.jaxpr.outvars, doc="The variables and literals that are the outputs.")
    debug_info = property(lambda self: self.jaxpr.debug_info, doc="What messages say of the function.")
    eqns = property(lambda self: self.jaxpr.eqns, doc="The equations.")
    effects = property(lambda self: self.jaxpr.effects, doc="The effects.")
    literals = property(lambda self: self.consts, doc="The values of the constants.")


def closed(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A program without constants as a closed one."""
    return ClosedJaxpr(jaxpr, ())


def consts_to_invars(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constants as leading inputs."""
    return jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars]) if jaxpr.constvars else jaxpr


def subprograms(params: dict[str, Any]) -> Iterator[Jaxpr | ClosedJaxpr]:
    """The programs among the parameters of an equation, those in tuples and lists included.

    Args:
      params: of an equation.
    Example: ``program = make_jaxpr(jit(jnp.sin))(y); len(list(arrax.core.subprograms(program.eqns[0].params)))`` is 1.
    """
    for value in params.values():
        for candidate in value if isinstance(value, tuple | list) else (value,):
            if isinstance(candidate, Jaxpr | ClosedJaxpr):
                yield candidate


def open_jaxpr(program: Jaxpr | ClosedJaxpr) -> Jaxpr:
    """The Jaxpr of either."""
    return program.jaxpr if isinstance(program, ClosedJaxpr) else program


def any_equation(program: Jaxpr | ClosedJaxpr, test: Callable[[JaxprEqn], Any]) -> bool:
    """Whether an equation of a program, or of one nested in it, passes a test."""
    return any(
        test(eqn) or any(any_equation(inner, test) for inner in subprograms(eqn.params))
        for eqn in open_jaxpr(program).eqns
    )


def joined_effects(eqns: Iterable[JaxprEqn]) -> Effects:
    """All effects of some equations."""
    result = no_effects
    for eqn in eqns:
        if eqn.effects:
            result |= eqn.effects
    return _of_others(result, eqns) if result else result


def _of_others(effects: Effects, eqns: Iterable[JaxprEqn]) -> Effects:
    """Effects, but for those on references that the equations themselves make."""
    on_references = {effect.variable for effect in effects if getattr(effect, "variable", None) is not None}
    made = {var for eqn in eqns for var in eqn.outvars if var in on_references} if on_references else None
    return frozenset(e for e in effects if getattr(e, "variable", None) not in made) if made else effects


def literalable(value: Any, aval: Any) -> bool:
    """True for constants that stand in the program itself: scalars of NumPy or Python."""
    if type(value) in (int, float, bool, complex):
        return True
    return isinstance(value, np.generic | np.ndarray) and isinstance(aval, ShapedArray) and aval.shape == ()


def format_eqn(eqn: JaxprEqn) -> str:
    """The text of an equation (filled by ``arrax.core.printing``)."""
    return printers.eqn(eqn)


class Printers:
    """The slots that ``arrax.core.printing``, a file of its own, fills."""

    jaxpr: Callable[..., str] = object.__repr__
    eqn: Callable[[JaxprEqn], str] = object.__repr__
    shown: Callable[[Any], str] = object.__repr__
    html: Callable[[Any], str] = object.__repr__
    rich: Callable[[Any], str] = object.__repr__


printers = Printers()

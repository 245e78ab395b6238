"""Looking at functions without running them: ``make_jaxpr``, ``eval_shape``, ``ShapeDtypeStruct``, named scopes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.explicit_axes import placed_type
from arrax.core.functions import function_name
from arrax.core.interpreter import context, current
from arrax.core.meshes import ManualAxisType, mesh_state
from arrax.core.named_axes import named_axes
from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.references import AbstractRef
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import ShapedArray, high_classes, register_type, type_of_any
from arrax.dtypes import DTypeLike
from arrax.dtypes.wording import shown
from arrax.interpreters.evaluation import KnownEvaluation
from arrax.interpreters.high_types import high_hooks, is_high
from arrax.native import runtime
from arrax.transforms.arguments import Split, jitted_of, refuse_abstracted_axes, resolve, unbound
from arrax.transforms.differentiated_functions import check_function
from arrax.transforms.layouts import Format
from arrax.transforms.tracing import described_argument, leaf_type, trace, traces_of
from arrax.xla.axis_orders import asked_order
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


class ShapeDtypeStruct:
    """Shape and dtype of an array, without its elements.

    Args:
      shape: tuple of ints.
      dtype: dtype.
      sharding: placement, or None; a PartitionSpec lies over the mesh in force, a Format says the order in memory, too.
      weak_type: whether the dtype is weak.
      manual_axis_type: over which manual mesh axes it varies (``ManualAxisType``), or None.
      is_ref: whether it stands for a reference to such an array.
      vma: the names that ``manual_axis_type`` has as varying, in programs that say only these.
    Raises:
      TypeError, ValueError: something else, or what does not fit the shape.
    Example: ``arrax.eval_shape(jnp.sin, arrax.ShapeDtypeStruct((3,), jnp.float32))``.
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type", "manual_axis_type", "is_ref", "layout")

    @boundary
    def __init__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike,
        *,
        sharding: runtime.Sharding | None = None,
        weak_type: bool = False,
        manual_axis_type: ManualAxisType | None = None,
        is_ref: bool = False,
        vma: Any = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple(shape)
        self.dtype = dtype if isinstance(dtype, dtypes.ExtendedDType) else np.dtype(dtype)
        self.layout = getattr(sharding, "layout", None)
        self.sharding, self.weak_type, self.is_ref = _struct_sharding(sharding), weak_type, is_ref
        if vma is not None and manual_axis_type is None:
            manual_axis_type = ManualAxisType(varying=frozenset(vma))
        if manual_axis_type is not None and not isinstance(manual_axis_type, ManualAxisType):
            raise TypeError(f"ShapeDtypeStruct: manual_axis_type must be a ManualAxisType, got {manual_axis_type!r}")
        self.manual_axis_type = manual_axis_type
        asked_order(self.layout, len(self.shape))
        if isinstance(self.sharding, NamedSharding):
            self.sharding.check_compatible_aval(self.shape)

    @classmethod
    def like(cls, value: Any) -> ShapeDtypeStruct:
        """The structure of an array, a number or another structure; with its place, if it is committed to one.

        Example: ``arrax.ShapeDtypeStruct.like(jnp.ones(3)).shape`` is ``(3,)``.
        """
        struct = struct_of(shaped_type(value))
        if isinstance(value, ShapeDtypeStruct):
            return struct.update(sharding=value.sharding)
        return struct.update(sharding=value.format) if getattr(value, "committed", False) is True else struct

    @property
    def format(self) -> Format:
        """The layout and the sharding, either of which may be None."""
        return Format(self.layout, self.sharding)

    size = property(lambda self: math.prod(self.shape), doc="Number of elements.")
    ndim = property(lambda self: len(self.shape), doc="Number of dimensions.")

    @property
    def vma(self) -> frozenset[Any] | None:
        """The names of the manual mesh axes over which it varies, or None."""
        return None if self.manual_axis_type is None else self.manual_axis_type.varying

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some fields replaced; another sharding takes the place of the whole format."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "layout"}
        fields |= {"sharding": self.format if self.layout is not None else self.sharding} | changes
        return ShapeDtypeStruct(fields.pop("shape"), fields.pop("dtype"), **fields)

    def __repr__(self) -> str:
        name = self.dtype.name
        extra = f", sharding={self.sharding}" if self.sharding is not None else ""
        extra += f", format={self.layout}" if self.layout is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        manual = "" if self.manual_axis_type is None else f", manual_axis_type={self.manual_axis_type}"
        ref = ", is_ref=True" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{extra}{weak}{manual}{ref})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


def _struct_sharding(sharding: Any) -> runtime.Sharding | None:
    """The sharding that the argument of a structure means: a spec lies over the mesh in force.

    Raises:
      TypeError: a spec where no mesh is in force. ValueError: no sharding.
    """
    if isinstance(sharding, PartitionSpec):
        mesh = mesh_state().mesh or mesh_state().legacy or mesh_state().abstract
        if mesh.empty:
            raise TypeError(
                f"ShapeDtypeStruct: the spec {sharding} needs a mesh in force: define one by arrax.set_mesh"
            )
        return NamedSharding(mesh, sharding)
    if hasattr(sharding, "layout"):  # a format
        return sharding.sharding
    if sharding is None or isinstance(sharding, runtime.Sharding):
        return sharding
    raise ValueError(
        "ShapeDtypeStruct: sharding must be a Sharding, a PartitionSpec or a Format, got "
        f"{sharding!r} of type {type(sharding)}"
    )


def _struct_type(struct: ShapeDtypeStruct) -> ShapedArray | AbstractRef:
    dtype = struct.dtype
    canonical = dtype if isinstance(dtype, dtypes.ExtendedDType) else dtypes.canonicalize_dtype(dtype)
    aval = ShapedArray(struct.shape, canonical, struct.weak_type, vma=struct.vma or frozenset())
    if struct.sharding is not None:
        aval = placed_type(aval, struct.sharding)
    return AbstractRef(aval) if struct.is_ref else aval


register_type(ShapeDtypeStruct, _struct_type)


def shaped_type(value: Any, describe: Callable[[], str] | None = None, advice: str = "") -> Any:
    """The type of an array or of anything with a shape and a dtype.

    Args:
      describe: says which argument it is, and ``advice`` what may be done about it, for messages.
    """
    if (
        hasattr(value, "shape")
        and hasattr(value, "dtype")
        and not hasattr(value, "aval")
        and not isinstance(value, np.ndarray | np.generic | ShapeDtypeStruct)
        and type(value) not in high_classes
    ):
        return ShapedArray(tuple(value.shape), dtypes.canonicalize_dtype(value.dtype, allow_extended_dtype=True))
    return leaf_type(value, describe or (lambda: f"value {shown(value)}"), advice)


def shaped_types(fun: Callable[..., Any], split: Split, leaves: Sequence[Any], advice: str = "") -> tuple[Any, ...]:
    """The types of a call's arguments: arrays, or anything with a shape and a dtype; errors name the argument."""
    describe = functools.partial(described_argument, fun, function_name(fun), split, leaves)
    return tuple(shaped_type(leaf, functools.partial(describe, i), advice) for i, leaf in enumerate(leaves))


def struct_of(aval: ShapedArray) -> ShapeDtypeStruct:
    """The ShapeDtypeStruct of a type."""
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=aval.explicit)


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False, abstracted_axes: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the program (ClosedJaxpr) of ``fun`` for its arguments; it shares the traces with ``jit``.

    Args:
      fun: function of arrays or pytrees of them.
      static_argnums: positions of arguments that are part of the program.
      axis_env: (name, size) of named axes for collectives.
      return_shape: also return the structure of the result, with ShapeDtypeStructs.
      abstracted_axes: None; programs of shapes that are known only when they run are not supported.
    Raises:
      ValueError: positions in ``static_argnums`` that the function does not have.
      NotImplementedError: ``abstracted_axes`` is given.
    Example: ``make_jaxpr(jnp.sin)(1.)`` prints ``{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }``.
    """
    check_function(fun)
    refuse_abstracted_axes("make_jaxpr", abstracted_axes)
    numbers, _ = resolve(fun, "static", static_argnums, None, infer=False)

    @boundary
    @functools.wraps(fun, assigned=("__module__", "__qualname__", "__doc__"))
    def make_jaxpr_f(*args: Any, **kwargs: Any) -> Any:
        split = Split(fun, numbers, (), args, kwargs)
        leaves, tree = tree_flatten((split.dynamic, split.dynamic_kwargs))
        avals = shaped_types(fun, split, leaves)
        with named_axes(*(axis_env or ())):
            if high_classes and any(map(is_high, avals)):
                made = high_hooks.program(fun, split, leaves, tree, avals)
                return made if return_shape else made[0]
            traced = trace(fun, split, "make_jaxpr", traces_of(fun), leaves, tree, avals)
        program = traced.program
        if traced.captured:
            count = len(traced.captured)
            jaxpr = program.jaxpr
            captured = zip(jaxpr.invars[:count], traced.captured, strict=True)
            fixed = zip(jaxpr.constvars, program.consts, strict=True)
            consts = [next(captured if is_captured else fixed) for is_captured in traced.is_captured]
            opened = jaxpr.replace(constvars=[var for var, _ in consts], invars=jaxpr.invars[count:])
            program = type(program)(opened, [value for _, value in consts])
        if not return_shape:
            return program
        return program, tree_unflatten(traced.out_tree, [struct_of(aval) for aval in program.out_avals])

    make_jaxpr_f.__name__ = f"make_jaxpr({function_name(fun)})"
    return make_jaxpr_f


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The structure of ``fun``'s result, with ShapeDtypeStructs for arrays, without computing anything.

    It shares the traces of the function with ``jit``.

    Args:
      args, kwargs: arrays, or anything with a shape and a dtype, or pytrees of them; dtypes by name.
    Example: ``eval_shape(jnp.dot, jnp.ones((2, 3)), jnp.ones(3))`` has shape ``(2,)``.
    """
    check_function(fun)
    fun, bound = unbound(fun)
    inner, args = jitted_of(fun), (*bound, *args)
    target = inner.fun if inner is not None else fun
    numbers = inner.options.static_argnums if inner is not None else ()
    names = inner.options.static_argnames if inner is not None else ()
    names = (*names, *(name for name, value in kwargs.items() if isinstance(value, type | np.dtype)))
    split = Split(target, numbers, names, args, kwargs)
    leaves, tree = tree_flatten((split.dynamic, split.dynamic_kwargs))
    avals = shaped_types(target, split, leaves)
    if high_classes and any(map(is_high, avals)):
        return high_hooks.shape(target, split, leaves, tree, avals)
    traced = trace(target, split, "eval_shape", traces_of(target), leaves, tree, avals)
    return result_structs(
        traced.program.out_avals, traced.out_tree, None if inner is None else inner.options.out_shardings
    )


def result_structs(avals: Sequence[ShapedArray], tree: PyTreeDef, asked: Any) -> Any:
    """The results of a program as ShapeDtypeStructs, in their structure.

    Args:
      asked: a sharding for all of them, or a tree prefix of shardings or formats; None where none is asked for.
    """
    structs = [struct_of(aval) for aval in avals]
    result = tree_unflatten(tree, structs)
    if asked is None:
        return result
    single = isinstance(asked, runtime.Sharding)
    each = [asked] * len(structs) if single else named_broadcast_prefix("out_shardings", asked, result, _is_none)
    return tree_unflatten(
        tree,
        [
            struct.update(sharding=sharding) if isinstance(sharding, runtime.Sharding | Format) else struct
            for struct, sharding in zip(structs, each, strict=True)
        ],
    )


def _is_none(entry: Any) -> bool:
    return entry is None


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Evaluate operations on known values at once, even inside a traced function; those on traced values are traced.

    Example: ``with arrax.ensure_compile_time_eval(): n = int(jnp.sum(jnp.arange(3)))``.
    """
    outer = context.interpreter
    with current(outer if outer.is_evaluation else KnownEvaluation(outer)):
        yield


@bound_methods
class named_scope:
    """Context manager and decorator: operations inside carry ``name`` in profiles and compiled programs.

    Example: ``with arrax.named_scope("attention"): y = x @ x``.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope name argument must be a string, got {shown(name)}")
        self.name = name

    def __enter__(self) -> None:
        self.previous = context.scopes
        context.scopes = (*self.previous, self.name)

    def __exit__(self, *_: object) -> None:
        context.scopes = self.previous

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        @boundary
        @functools.wraps(fun)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            with named_scope(self.name):
                return fun(*args, **kwargs)

        return scoped


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """``fun`` inside a named scope of its own name, or of ``name``.

    Example: ``named_call(jnp.sin, name="wave")(1.)``.
    """
    check_function(fun)
    return named_scope(name or function_name(fun))(fun)


def typeof_(x: Any) -> Any:
    """The type (ShapedArray) of an array or number.

    Example: ``arrax.typeof(jnp.ones(3))`` is ``ShapedArray(float32[3])``.
    """
    return type_of_any(x)

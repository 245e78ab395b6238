"""``checkpoint`` (``remat``): recompute on the backward pass instead of saving; policies that say what may be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, overload

from arrax.core.argument_values import flatten_values
from arrax.core.errors import frame_text, user_frames
from arrax.core.functions import argument_names, named_like, signature_of
from arrax.core.interpreter import Primitive, context
from arrax.core.program import JaxprEqn, Var
from arrax.core.pytree_prefixes import flatten_axes
from arrax.core.pytrees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from arrax.core.tracebacks import bound_methods, boundary, bounded
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.staging import stage
from arrax.lax.calls import consts_as_inputs
from arrax.lax.contractions import dot_general_p
from arrax.lax.operand_checks import checked_operand
from arrax.lax.remat import name_p, remat_p
from arrax.lax.saved_values import Decision, Offloadable, Recompute, Saveable, inline_calls, is_saved
from arrax.transforms.arguments import AnyStaticArgument, Split, as_names, as_numbers, infer_argnums_and_argnames
from arrax.transforms.autodiff import Linearized
from arrax.transforms.differentiated_functions import as_result, check_function
from arrax.transforms.tracing import trace, traces_of
from arrax.transforms.wrapped import F
from arrax.xla.arrays import Array

Policy = Callable[..., Decision]


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Save every intermediate value, as without checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Save no intermediate value, as checkpoint does by default."""
    return False


def dots_saveable(primitive: Primitive, *_: ShapedArray, **__: Any) -> bool:
    """Save results of matrix products."""
    return primitive is dot_general_p


def dots_with_no_batch_dims_saveable(primitive: Primitive, *_: Any, **params: Any) -> bool:
    """Save results of matrix products without batch axes."""
    return primitive is dot_general_p and not params["dimension_numbers"][1][0]


def save_anything_except_these_names(*names: str) -> Policy:
    """Save everything but values named (by ``checkpoint_name``) with these names."""
    return partial(_all_but_named, frozenset(names))


def save_any_names_but_these(*names: str) -> Policy:
    """Save only named values, but not those with these names."""
    return partial(_named_otherwise, frozenset(names))


def save_only_these_names(*names: str) -> Policy:
    """Save only values with these names."""
    return partial(_named, frozenset(names))


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Save results of matrix products without batch axes in another memory, and recompute everything else.

    Args:
      offload_src, offload_dst: kinds of memory that values are in and are kept in: ``"device"``, ``"pinned_host"``.
    """
    return partial(_products_in, Offloadable(offload_src, offload_dst))


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Save only values with some names, where they are or in another memory.

    Args:
      names_which_can_be_saved: names of values that are saved where they are.
      names_which_can_be_offloaded: names of values that are saved in the other memory.
      offload_src, offload_dst: kinds of memory that values are in and are kept in: ``"device"``, ``"pinned_host"``.
    Raises:
      ValueError: a name that is in both groups.
    """
    saved, moved = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if saved & moved:
        raise ValueError(
            "save_and_offload_only_these_names: names_which_can_be_saved and names_which_can_be_offloaded share "
            f"{sorted(saved & moved)}"
        )
    return partial(_named_in, saved, moved, Offloadable(offload_src, offload_dst))


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Save what either of two policies saves."""
    return partial(_either, policy_1, policy_2)


# What the policies with arguments are: functions of this module, so that pickles find them.


def _named(names: frozenset[str], primitive: Primitive, /, *_: ShapedArray, **params: Any) -> bool:
    return primitive is name_p and params["name"] in names


def _named_otherwise(names: frozenset[str], primitive: Primitive, /, *_: ShapedArray, **params: Any) -> bool:
    return primitive is name_p and params["name"] not in names


def _all_but_named(names: frozenset[str], primitive: Primitive, /, *_: ShapedArray, **params: Any) -> bool:
    return not _named(names, primitive, **params)


def _products_in(place: Offloadable, primitive: Primitive, /, *_: ShapedArray, **params: Any) -> Decision:
    return place if dots_with_no_batch_dims_saveable(primitive, **params) else Recompute


def _named_in(
    saved: frozenset[str],
    moved: frozenset[str],
    place: Offloadable,
    primitive: Primitive,
    /,
    *_: ShapedArray,
    **params: Any,
) -> Decision:
    return (
        Saveable if _named(saved, primitive, **params) else place if _named(moved, primitive, **params) else Recompute
    )


def _either(policy_1: Policy, policy_2: Policy, primitive: Primitive, /, *args: ShapedArray, **params: Any) -> Decision:
    decision = policy_1(primitive, *args, **params)
    return decision if is_saved(decision) else policy_2(primitive, *args, **params)


@bound_methods
class checkpoint_policies:
    """The policies that come with arrax: functions of a primitive, the types of its operands, and its parameters.

    Example: ``policy = arrax.checkpoint_policies.dots_saveable;
    grad(arrax.checkpoint(lambda v: jnp.sin(v @ v), policy=policy))(x / 4)`` is ``x / 2 * jnp.cos(14 / 16)``.
    """

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable
    save_anything_except_these_names = staticmethod(save_anything_except_these_names)
    save_anything_but_these_names = save_anything_except_these_names
    save_any_names_but_these = staticmethod(save_any_names_but_these)
    save_only_these_names = staticmethod(save_only_these_names)
    offload_dot_with_no_batch_dims = staticmethod(offload_dot_with_no_batch_dims)
    save_and_offload_only_these_names = staticmethod(save_and_offload_only_these_names)
    save_from_both_policies = staticmethod(save_from_both_policies)


@overload
def checkpoint(
    fun: F, *, prevent_cse: Any = ..., policy: Policy | None = ..., static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Iterable[str] = ..., concrete: bool = ...,
) -> F: ...  # fmt: skip
@overload
def checkpoint(
    fun: None = None, *, prevent_cse: Any = ..., policy: Policy | None = ..., static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Iterable[str] = ..., concrete: bool = ...,
) -> Callable[[F], F]: ...  # fmt: skip
def checkpoint(
    fun: Callable[..., Any] | None = None, *, prevent_cse: Any = True, policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = (), concrete: bool = False,
) -> Any:  # fmt: skip
    """Recompute ``fun``'s intermediate values on the backward pass instead of keeping them.

    Args:
      fun: function of arrays or pytrees of them.
      prevent_cse: keep the compiler from merging the recomputation with the forward pass; a tree prefix of the arguments
        says which of them go through the barrier for that.
      policy: which intermediate values may be saved all the same, see ``checkpoint_policies``.
      static_argnums: positions of arguments that are part of the program; they need not be hashable.
      static_argnames: names of such arguments, passed by position or by keyword.
      concrete: must be False; ``static_argnums`` has taken its place.
    Returns: a function with the same values and derivatives.
    Raises:
      TypeError: a policy that is no function.
      ValueError: when it is called, positions in ``static_argnums`` without an argument.
    Example: ``grad(checkpoint(lambda x: jnp.sin(jnp.sin(x))))(1.)``.
    """
    if fun is None:
        given = {"static_argnums": static_argnums, "static_argnames": static_argnames, "concrete": concrete}
        return partial(bounded(checkpoint), prevent_cse=prevent_cse, policy=policy, **given)
    check_function(fun)
    if policy and not callable(policy):
        raise TypeError(f"checkpoint: policy must be a function or None, got {shown(policy)}")
    if concrete:
        raise NotImplementedError(
            "checkpoint no longer has the option concrete: mark arguments with static_argnums instead"
        )
    numbers, names = as_numbers("static_argnums", static_argnums), as_names("static_argnames", static_argnames)
    signature = signature_of(fun) if names else None
    named = infer_argnums_and_argnames(signature, None, names)[0] if signature is not None else ()
    target, store = fun, traces_of(fun)

    @boundary
    @named_like(fun)
    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        if not all(-len(args) <= number < len(args) for number in numbers):
            raise ValueError(f"checkpoint: static_argnums={numbers}, but there are {len(args)} positional arguments")
        fixed = (*numbers, *(number for number in named if number < len(args)))
        split = Split(target, fixed, names, args, kwargs, AnyStaticArgument)
        leaves, tree = flatten_values((split.dynamic, split.dynamic_kwargs))
        traced = trace(target, split, "checkpoint", store, leaves, tree)
        program = traced.program
        operands = [*program.consts, *traced.captured, *leaves]
        barrier = prevent_cse if isinstance(prevent_cse, bool) else _barrier_flags(prevent_cse, split, len(operands))
        outs = remat_p.bind(
            *operands, jaxpr=consts_as_inputs(program), prevent_cse=barrier, differentiated=False, policy=policy
        )
        return tree_unflatten(traced.out_tree, list(map(as_result, outs)))

    return fun_remat


def _barrier_flags(prevent_cse: tuple[Any, ...], split: Split, count: int) -> tuple[bool, ...]:
    """For each operand whether it stands behind the barrier; those that the function closes over do."""
    structure = tree_flatten(split.dynamic)[1]
    flags = flatten_axes("checkpoint prevent_cse", structure, tuple(prevent_cse), tupled_args=True)
    by_name = [True] * len(tree_leaves(split.dynamic_kwargs))
    rest = [bool(flag) for flag in flags]
    return (*[True] * (count - len(rest) - len(by_name)), *rest, *by_name)


def checkpoint_name(x: Any, name: str) -> Any:
    """``x`` itself, named for checkpoint policies.

    Args:
      x: array or pytree of arrays.
      name: the name.
    Example: ``checkpoint_name(jnp.sin(x), "sine")``.
    """
    return tree_map(
        lambda leaf: context.interpreter.process(name_p, (checked_operand("checkpoint_name", leaf),), {"name": name}), x
    )


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """What the backward pass of ``f`` keeps: (type, where it comes from), arguments first.

    Args:
      f: function. args, kwargs: what it is called with.
    Returns: list of (type, text).
    Example: ``from arrax.ad_checkpoint import saved_residuals; len(saved_residuals(jnp.sin, x))`` is 1.
    """
    leaves, tree = tree_flatten((args, kwargs))
    names = _leaf_names(f, args, kwargs)

    def forward(*values: Any) -> list[Any]:
        inner_args, inner_kwargs = tree_unflatten(tree, values)
        row, row_tree = tree_flatten((inner_args, inner_kwargs))

        def flat(*inner: Array) -> list[Any]:
            a, k = tree_unflatten(row_tree, inner)
            return tree_leaves(f(*a, **k))

        return Linearized(flat, row).residuals

    jaxpr, consts = stage(forward, [typeof(leaf) for leaf in leaves])
    jaxpr = inline_calls(jaxpr)
    found: list[tuple[Any, str]] = []
    kept = [atom for atom in dict.fromkeys(a for a in jaxpr.outvars if isinstance(a, Var))]
    for var, name in zip(jaxpr.invars, names, strict=True):
        if var in kept:
            found.append((var.aval, f"from the argument {name}"))
    for var, _ in zip(jaxpr.constvars, consts, strict=True):
        if var in kept:
            found.append((var.aval, "from a constant"))
    named = {eqn.invars[0]: eqn for eqn in jaxpr.eqns if eqn.primitive is name_p}
    for eqn in jaxpr.eqns:
        for var in eqn.outvars:
            if var in kept:
                found.append((var.aval, _describe(named.get(var, eqn))))
    return found


def _leaf_names(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    names = argument_names(f, args, kwargs)
    result: list[str] = []
    for name, value in zip(names, [*args, *kwargs.values()], strict=True):
        result += [repr(name)] * len(tree_leaves(value))
    return result


def _describe(eqn: JaxprEqn) -> str:
    frames = user_frames(eqn.source_info.traceback, 1)
    place = frame_text(frames[0]) if frames else "<unknown>"
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {place}"
    return f"output of {eqn.primitive.name} from {place}"


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what the backward pass of ``f`` keeps, one value a line.

    Example: ``print_saved_residuals(jnp.sin, 1.)`` prints ``f32[] output of cos from …``.
    """
    for aval, where in saved_residuals(f, *args, **kwargs):
        print(aval.str_short(True), where)

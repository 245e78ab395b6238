"""Solvers whose derivatives come from what they solve: ``custom_linear_solve`` and ``custom_root``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.calls import check_callable
from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_structure, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.sequences import split_list
from arrax.core.types import Zero, instantiate, slots, typeof
from arrax.interpreters.ad.forward import jvp_jaxpr
from arrax.interpreters.ad.transpose import is_undefined_primal, transpose_program
from arrax.interpreters.batching import batch_at, batch_program, running_batch
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.arithmetic import neg
from arrax.lax.control_flow.carries import same_type, tree_difference, type_difference
from arrax.lax.control_flow.staged_functions import StagedFunction, leaf_names, selected, stage_function

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.xla.arrays import Array, ArrayLike

__all__ = ["custom_linear_solve", "custom_root", "linear_solve_p", "root_p"]


class LinearPrograms(NamedTuple):
    """The programs of a linear solve, each (*its consts, *vector) -> vector; those of the transpose may be missing."""

    matvec: ClosedJaxpr
    vecmat: ClosedJaxpr | None
    solve: ClosedJaxpr
    transpose_solve: ClosedJaxpr | None

    def transposed(self) -> LinearPrograms:
        """The programs of the transposed system."""
        return LinearPrograms(self.vecmat, self.matvec, self.transpose_solve, self.solve)  # type: ignore[arg-type]


linear_solve_p = Primitive("custom_linear_solve", multiple_results=True, cost=work_of_rows)
root_p = Primitive("custom_root", multiple_results=True)
linear_solve_p.holds_programs = root_p.holds_programs = True


def _run(program: ClosedJaxpr | None, *values: ArrayLike) -> list[Any]:
    assert program is not None
    return eval_jaxpr(program.jaxpr, program.consts, *values)


def _consts_and_rest(args: Sequence[Any], const_lengths: Sequence[int]) -> tuple[list[list[Any]], list[Any]]:
    *consts, rest = split_list(args, const_lengths)
    return consts, rest


# ---- the rules of linear solves --------------------------------------------------------------------------------------


def _bind_linear(programs: LinearPrograms, consts: Sequence[Sequence[Any]], b: Sequence[Any]) -> list[Any]:
    lengths = tuple(map(len, consts))
    return linear_solve_p.bind(
        *(value for group in consts for value in group), *b, const_lengths=lengths, jaxprs=programs
    )


def _linear_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, const_lengths: tuple[int, ...], jaxprs: LinearPrograms
) -> tuple[Any, Any]:
    """From A x = b: dx solves A dx = db - dA x. The solver's own constants do not matter."""
    consts, b = _consts_and_rest(primals, const_lengths)
    const_tangents, b_dot = _consts_and_rest(tangents, const_lengths)
    outs = _bind_linear(jaxprs, consts, b)
    x, aux = outs[: len(b)], outs[len(b) :]
    right = list(b_dot)
    nonzeros = [type(t) is not Zero for t in const_tangents[0]]
    if any(nonzeros):
        count = len(x)
        derived, _ = jvp_jaxpr(jaxprs.matvec, [*nonzeros, *[False] * count], True)
        moved = _run(derived, *consts[0], *x, *selected(const_tangents[0], nonzeros))[count:]
        right = [neg(m) if type(t) is Zero else slots.add(t, neg(m)) for t, m in zip(right, moved, strict=True)]
    if all(type(t) is Zero for t in right):
        return outs, [Zero.of(out) for out in outs]
    x_dot = _bind_linear(jaxprs, consts, [instantiate(t) for t in right])[: len(x)]
    return outs, [*x_dot, *(Zero.of(out) for out in aux)]


def _linear_transpose(
    cts: Sequence[Tangent], *args: Any, const_lengths: tuple[int, ...], jaxprs: LinearPrograms
) -> list[Any]:
    consts, b = _consts_and_rest(args, const_lengths)
    if any(is_undefined_primal(x) for group in consts for x in group):
        raise TypeError("custom_linear_solve is linear in the right-hand side only")
    ct_x = cts[: len(b)]
    if any(type(ct) is not Zero for ct in cts[len(b) :]):
        raise TypeError("custom_linear_solve: the auxiliary output cannot be differentiated")
    programs, constants = _with_transpose(jaxprs, consts, len(b))
    order = [constants[1], constants[0], constants[3], constants[2]]
    outs = _bind_linear(programs.transposed(), order, [instantiate(ct) for ct in ct_x])[: len(b)]
    return [
        *[None] * sum(const_lengths),
        *(slots.convert(ct, x.aval) if is_undefined_primal(x) else None for ct, x in zip(outs, b, strict=True)),
    ]


def _with_transpose(
    programs: LinearPrograms, consts: list[list[Any]], count: int
) -> tuple[LinearPrograms, list[list[Any]]]:
    """The programs with those of the transpose; where the user gave none, the solver itself is transposed."""
    if programs.transpose_solve is not None:
        return programs, consts
    try:
        backwards = _transposed(programs.solve, len(consts[2]), count)
        vecmat = _transposed(programs.matvec, len(consts[0]), count)
    except (NotImplementedError, ValueError):
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of custom_linear_solve"
        ) from None
    return programs._replace(vecmat=vecmat, transpose_solve=backwards), [consts[0], consts[0], consts[2], consts[2]]


def _transposed(program: ClosedJaxpr, consts: int, count: int) -> ClosedJaxpr:
    """(*consts, *cotangents of the outputs) -> cotangents of the vector, of a program that is linear in its vector."""
    return program.memo(("transposed with zeros", consts, count), lambda: _make_transposed(program, consts, count))


def _make_transposed(program: ClosedJaxpr, consts: int, count: int) -> ClosedJaxpr:
    outs = len(program.out_avals)
    derived, nonzero = transpose_program(
        program, [False] * consts + [True] * count, [True] * count + [False] * (outs - count)
    )
    avals = program.in_avals[consts:]

    def whole(*values: Array) -> list[Any]:
        found = iter(_run(derived, *values))
        return [next(found) if nz else slots.zeros(aval) for nz, aval in zip(nonzero, avals, strict=True)]

    return ClosedJaxpr(*stage(whole, derived.in_avals, program.jaxpr.debug_info))


def _batched(program: ClosedJaxpr | None, mapped: Sequence[bool]) -> ClosedJaxpr | None:
    """The program over the batch whose rule is running, with all outputs mapped."""
    if program is None:
        return None
    return batch_program(program, running_batch().axis, mapped, True)[0]


def _in_front(values: Sequence[Any], dims: Dims, everywhere: bool = False) -> list[Any]:
    """Values with their batch axes in front; with ``everywhere`` also those that have none."""
    axis = running_batch().axis
    return [x if d is None and not everywhere else batch_at(x, d, axis) for x, d in zip(values, dims, strict=True)]


def _linear_batch(
    values: Sequence[ArrayLike], dims: Dims, *, const_lengths: tuple[int, ...], jaxprs: LinearPrograms
) -> tuple[Any, Any]:
    consts, b = _consts_and_rest(values, const_lengths)
    const_dims, b_dims = _consts_and_rest(dims, const_lengths)
    every = [True] * len(b)
    programs = [
        _batched(program, [*(d is not None for d in group), *every])
        for program, group in zip(jaxprs, const_dims, strict=True)
    ]
    moved = [_in_front(group, group_dims) for group, group_dims in zip(consts, const_dims, strict=True)]
    outs = _bind_linear(LinearPrograms(*programs), moved, _in_front(b, b_dims, True))  # type: ignore[arg-type]
    return outs, [0] * len(outs)


def _linear_lower(
    ctx: LoweringContext, *args: Value, const_lengths: tuple[int, ...], jaxprs: LinearPrograms
) -> list[Value]:
    consts, b = _consts_and_rest(args, const_lengths)
    return inline_program(ctx.module_context, jaxprs.solve, [*consts[2], *b], ctx.primitive.name)


linear_solve_p.type_rule = lambda *avals, const_lengths, jaxprs: jaxprs.solve.out_avals
linear_solve_p.effects_rule = lambda *avals, const_lengths, jaxprs: jaxprs.solve.effects
linear_solve_p.jvp = _linear_jvp
linear_solve_p.transpose = _linear_transpose
linear_solve_p.batch = _linear_batch
linear_solve_p.lower[None] = _linear_lower


# ---- the rules of roots ----------------------------------------------------------------------------------------------


class RootPrograms(NamedTuple):
    """The function, its solver, and the solver of its linearization (*consts, *x, *y) -> v with f'(x) v = y."""

    f: ClosedJaxpr
    solve: ClosedJaxpr
    tangent_solve: ClosedJaxpr


def _root_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, const_lengths: tuple[int, ...], jaxprs: RootPrograms
) -> tuple[Any, Any]:
    """From f(x, c) = 0: dx solves f_x dx = -f_c dc."""
    outs = root_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    count = len(jaxprs.f.out_avals)
    x = outs[:count]
    consts, _ = _consts_and_rest(primals, const_lengths)
    f_tangents = tangents[: const_lengths[0]]
    nonzeros = [type(t) is not Zero for t in f_tangents]
    if not any(nonzeros):
        return outs, [Zero.of(out) for out in outs]
    derived, _ = jvp_jaxpr(jaxprs.f, [*nonzeros, *[False] * count], True)
    moved = _run(derived, *consts[0], *x, *selected(f_tangents, nonzeros))[count:]
    programs = LinearPrograms(_slope(jaxprs.f, const_lengths[0], count), None, jaxprs.tangent_solve, None)
    x_dot = _bind_linear(programs, [[*consts[0], *x], [], [*consts[2], *x], []], [neg(m) for m in moved])
    return outs, [*x_dot, *(Zero.of(out) for out in outs[count:])]


def _slope(f: ClosedJaxpr, consts: int, count: int) -> ClosedJaxpr:
    """(*consts, *x, *v) -> f'(x) v."""

    def make() -> ClosedJaxpr:
        derived, _ = jvp_jaxpr(f, [False] * consts + [True] * count, True)
        return derived.replace(jaxpr=derived.jaxpr.replace(outvars=derived.jaxpr.outvars[count:]))

    return f.memo(("slope", consts, count), make)


def _root_batch(
    values: Sequence[ArrayLike], dims: Dims, *, const_lengths: tuple[int, ...], jaxprs: RootPrograms
) -> tuple[Any, Any]:
    consts, guess = _consts_and_rest(values, const_lengths)
    const_dims, guess_dims = _consts_and_rest(dims, const_lengths)
    count = len(guess)
    programs = RootPrograms(*(
        _batched(program, [*(d is not None for d in group), *[True] * vectors])  # type: ignore[arg-type]
        for program, group, vectors in zip(jaxprs, const_dims, (count, count, 2 * count), strict=True)
    ))  # fmt: skip
    moved = [x for group, group_dims in zip(consts, const_dims, strict=True) for x in _in_front(group, group_dims)]
    outs = root_p.bind(*moved, *_in_front(guess, guess_dims, True), const_lengths=const_lengths, jaxprs=programs)
    return outs, [0] * len(outs)


def _root_lower(
    ctx: LoweringContext, *args: Value, const_lengths: tuple[int, ...], jaxprs: RootPrograms
) -> list[Value]:
    consts, guess = _consts_and_rest(args, const_lengths)
    return inline_program(ctx.module_context, jaxprs.solve, [*consts[1], *guess], ctx.primitive.name)


root_p.type_rule = lambda *avals, const_lengths, jaxprs: jaxprs.solve.out_avals
root_p.effects_rule = lambda *avals, const_lengths, jaxprs: jaxprs.solve.effects
root_p.jvp = _root_jvp
root_p.batch = _root_batch
root_p.lower[None] = _root_lower


# ---- the functions ---------------------------------------------------------------------------------------------------


def _staged(fun: Callable[..., Any], in_tree: PyTreeDef, avals: Sequence[Any], name: str) -> StagedFunction:
    """A staged function without references: of what those hold that it closes over, and of its own."""
    staged = stage_function(fun, in_tree, avals, name)
    if reference_hooks.read is None or reference_hooks.discharge is None:
        return staged
    staged = reference_hooks.read(staged, name)
    return staged._replace(program=reference_hooks.discharge(staged.program))


def _types_of_vector(
    leaves: Sequence[Any], in_tree: PyTreeDef, functions: Sequence[Callable[..., Any]], name: str
) -> list[Any]:
    """Types of a vector's leaves: weak ones stay so, unless a function makes another dtype of them."""
    avals = [typeof(leaf) for leaf in leaves]
    firm = [aval.strip_weak_type() for aval in avals]
    if avals == firm:
        return firm
    for function in functions:
        outs = _staged(function, in_tree, avals, name).program.out_avals
        if any(out.dtype != aval.dtype for out, aval in zip(outs, avals, strict=False)):
            return firm
    return avals


def _check_like(
    construct: str, name: str, wanted: PyTreeDef, avals: Sequence[Any], tree: PyTreeDef, outs: Sequence[Any]
) -> None:
    """Raise where the output of a function has not the structure and types of the vector."""
    of_shapes = ValueError if construct == "custom_linear_solve" else TypeError  # whose tangents have no other dtypes
    if tree != wanted:
        difference = tree_difference(f"the output of {name}", "the vector", tree, wanted)
        same_shapes = [out.shape for out in outs] == [aval.shape for aval in avals]
        raise (TypeError if same_shapes else of_shapes)(
            f"{construct}: {name} must return the pytree structure of its argument, but {difference}"
        )
    for path, aval, out in zip(leaf_names("output", tree), avals, outs, strict=True):
        if not same_type(aval, out):
            raise (TypeError if aval.shape == out.shape else of_shapes)(
                f"{construct}: {name} must return the types of its argument, but {path} is {out.str_short(False)} "
                f"where {aval.str_short(False)} is wanted: {type_difference(out, aval)}"
            )


def _solution(
    construct: str, name: str, staged: StagedFunction, tree: PyTreeDef, avals: Sequence[Any], has_aux: bool
) -> PyTreeDef | None:
    """Check the output of a solver; returns the structure of its auxiliary output."""
    out_tree, outs, aux = staged.out_tree, staged.program.out_avals, None
    if has_aux:
        children = out_tree.children()
        if len(children) != 2:
            raise TypeError(f"{construct}: {name} must return (solution, auxiliary data), since has_aux=True")
        out_tree, aux = children
    _check_like(construct, name, tree, avals, out_tree, outs[: out_tree.num_leaves])
    return aux


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: ArrayLike,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve ``matvec(x) = b`` for ``x``; derivatives solve the same system again instead of following ``solve``.

    Args:
      matvec: linear and invertible function.
      b: right-hand side, an array or a pytree of them.
      solve: function of (matvec, b) to the solution; need not be differentiable.
      transpose_solve: function of (the transpose of matvec, b) to its solution, for reverse mode.
      symmetric: ``matvec`` is its own transpose, so that ``solve`` serves both.
      has_aux: ``solve`` and ``transpose_solve`` return (solution, auxiliary data).
    Returns: the solution, with ``has_aux`` also the auxiliary data.
    Raises:
      ValueError: shapes, or numbers of arrays, that differ.
      TypeError: structures or dtypes that differ; in reverse mode, no ``transpose_solve``.
    Example: ``custom_linear_solve(lambda x: a @ x, b, lambda _, b: jnp.linalg.solve(a, b))``.
    """
    check_callable(matvec, solve)
    leaves, tree = tree_flatten(b)
    in_tree = tree_structure((b,))
    solved = functools.partial(solve, matvec)
    avals = _types_of_vector(leaves, in_tree, (matvec, solved), "custom_linear_solve")
    leaves = [slots.convert(x, aval) for x, aval in zip(leaves, avals, strict=True)]
    product = _staged(matvec, in_tree, avals, "custom_linear_solve")
    _check_like("custom_linear_solve", "matvec", tree, avals, product.out_tree, product.program.out_avals)
    solver = _staged(solved, in_tree, avals, "custom_linear_solve")
    aux_tree = _solution("custom_linear_solve", "solve", solver, tree, avals, has_aux)
    count, consts = len(leaves), [product.consts, [], solver.consts, []]
    programs = LinearPrograms(product.program, None, solver.program, None)
    if symmetric:
        programs = programs._replace(vecmat=programs.matvec, transpose_solve=programs.solve)
        consts = [product.consts, product.consts, solver.consts, solver.consts]
    elif transpose_solve is not None:
        back = _transposed(product.program, len(product.consts), count)

        def vecmat(vector: Array) -> Array:
            flat, vector_tree = tree_flatten(vector)
            return tree_unflatten(vector_tree, _run(back, *product.consts, *flat))

        backwards = _staged(lambda b: transpose_solve(vecmat, b), in_tree, avals, "custom_linear_solve")
        _solution("custom_linear_solve", "transpose_solve", backwards, tree, avals, has_aux)
        programs = programs._replace(vecmat=back, transpose_solve=backwards.program)
        consts = [product.consts, product.consts, solver.consts, backwards.consts]
    outs = _bind_linear(programs, consts, leaves)
    x = tree_unflatten(tree, outs[:count])
    return (x, tree_unflatten(aux_tree, outs[count:])) if aux_tree is not None else x


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: ArrayLike,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Find a root of ``f``, with derivatives by the implicit function theorem instead of through the solver.

    Args:
      f: function of an array or pytree to one of the same structure and types; may close over what is differentiated.
      initial_guess: where ``solve`` starts.
      solve: function of (f, initial_guess) to a root; need not be differentiable.
      tangent_solve: function of (g, y) to ``x`` with ``g(x) = y``, where ``g`` is ``f`` linearized at the root. It is
        linear in ``y``: for scalars ``lambda g, y: y / g(1.0)``.
      has_aux: ``solve`` returns (root, auxiliary data).
    Returns: the root, with ``has_aux`` also the auxiliary data.
    Raises:
      TypeError: structures or types that differ.
    Example: ``custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))`` with a function ``newton`` is the
      square root of ``a``.
    """
    check_callable(f, solve, tangent_solve)
    leaves, tree = tree_flatten(initial_guess)
    in_tree = tree_structure((initial_guess,))
    solved = functools.partial(solve, f)
    avals = _types_of_vector(leaves, in_tree, (f, solved), "custom_root")
    leaves = [slots.convert(x, aval) for x, aval in zip(leaves, avals, strict=True)]
    count = len(leaves)
    function = _staged(f, in_tree, avals, "custom_root")
    _check_like("custom_root", "f", tree, avals, function.out_tree, function.program.out_avals)
    solver = _staged(solved, in_tree, avals, "custom_root")
    aux_tree = _solution("custom_root", "solve", solver, tree, avals, has_aux)
    slope = _slope(function.program, len(function.consts), count)

    def linear_solve(x: Any, y: Any) -> Any:
        point = tree_flatten(x)[0]

        def g(vector: ArrayLike) -> Array:
            flat = [slots.convert(v, aval) for v, aval in zip(tree_flatten(vector)[0], avals, strict=True)]
            return tree_unflatten(tree, _run(slope, *function.consts, *point, *flat))

        return tangent_solve(g, y)

    pair = tree_structure((initial_guess, initial_guess))
    tangents = _staged(linear_solve, pair, [*avals, *avals], "custom_root")
    _check_like("custom_root", "tangent_solve", tree, avals, tangents.out_tree, tangents.program.out_avals)
    consts = [function.consts, solver.consts, tangents.consts]
    programs = RootPrograms(function.program, solver.program, tangents.program)
    outs = root_p.bind(
        *(c for group in consts for c in group), *leaves, const_lengths=tuple(map(len, consts)), jaxprs=programs
    )
    root = tree_unflatten(tree, outs[:count])
    return (root, tree_unflatten(aux_tree, outs[count:])) if aux_tree is not None else root

"""Random programs: lists of operations on scalars, vectors and matrices, some of which hold programs themselves.

A program is plain data, ``((operation, number, ...), ...)``; a number chooses an operand among those that there are, so that
every part of a program is a program, too.
"""

import random

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax

N = 3
policies = arrax.checkpoint_policies


def _solved(m, v):
    return jnp.linalg.solve(jnp.tanh(_wide(m)) + 4 * jnp.eye(N, dtype=_wide(m).dtype), _wide(v)).astype(v.dtype)


def _wide(x):
    """LAPACK has no functions for 16 bits."""
    return x.astype("float32") if x.dtype.itemsize < 4 else x


def _factor(m):
    m = jnp.tanh(_wide(m))
    return jnp.linalg.cholesky(m @ m.T + 2 * jnp.eye(N, dtype=m.dtype)).astype(m.dtype)


# fmt: off
VECTOR = {  # of a vector
    "sin":         jnp.sin,
    "tanh":        jnp.tanh,
    "bell":        lambda x: jnp.exp(-x * x),
    "log1p":       lambda x: jnp.log1p(x * x),
    "reverse":     lambda x: x[::-1],
    "roll":        lambda x: jnp.roll(x, 1),
    "cumsum":      lambda x: jnp.cumsum(x) / N,
    "cummax":      lambda x: lax.cummax(x, 0),
    "sort":        jnp.sort,
    "softmax":     arrax.nn.softmax,
    "relu":        arrax.nn.relu,
    "gelu":        arrax.nn.gelu,
    "clip":        lambda x: jnp.clip(x, -1, 1),
    "where":       lambda x: jnp.where(x > 0, x, x * 0.25),
    "add at":      lambda x: x.at[0].add(x[1]),
    "set at":      lambda x: x.at[jnp.array([0, 2])].set(x[1]),
    "mul at":      lambda x: x.at[1:].mul(0.5),
    "take":        lambda x: x[jnp.array([2, 0, 0])],
    "slice":       lambda x: jnp.concatenate([x[1:], lax.dynamic_slice_in_dim(x, 0, 1)]),
    "greatest":    lambda x: x[jnp.argmax(x)] - x,
    "folded":      lambda x: lax.associative_scan(jnp.add, x) / N,
    "segments":    lambda x: arrax.ops.segment_sum(x, jnp.array([0, 1, 0]), 3),
    "watched":     lambda x: (arrax.debug.callback(lambda x: None, x), x)[1],
    "complex":     lambda x: jnp.abs(lax.complex(_wide(x), _wide(x) + 1)).astype(x.dtype),
    "bits":        lambda x: x * (jnp.arange(N) % 2 == 0),
}
VECTORS = {  # of two vectors
    "add":         lambda x, y: (x + y) / 2,
    "mul":         lambda x, y: x * jnp.tanh(y),
    "sub":         lambda x, y: x - y / 2,
    "maximum":     jnp.maximum,
    "div":         lambda x, y: x / (1 + y * y),
    "atan2":       lambda x, y: jnp.arctan2(x, 1 + y * y),
    "select":      lambda x, y: jnp.where(x > y, x, y * 0.5),
    "dot":         lambda x, y: x * jnp.tanh(jnp.dot(x, y)),
    "convolve":    lambda x, y: jnp.tanh(jnp.convolve(x, y, mode="same")),
}
MATRIX_VECTOR = {
    "matvec":      lambda m, v: m @ v / N,
    "einsum":      lambda m, v: jnp.einsum("ij,i->j", jnp.sin(m), v),
    "solve":       _solved,
    "rows":        lambda m, v: jnp.sum(jnp.square(m + v), axis=1) / (1 + jnp.sum(jnp.square(m), axis=1)),
}
MATRIX = {
    "transpose":   lambda m: m.T,
    "bounded":     jnp.tanh,
    "product":     lambda m: m @ m / N,
    "factor":      lambda m: _factor(m).astype(m.dtype),
    "normalized":  lambda m: arrax.nn.log_softmax(m, axis=1) / N,
}
# What holds a program from a vector to a vector. Those of the second table may not see other values than their argument.
HOLDERS = ["jit", "checkpoint", "scan", "fori", "cond", "switch", "vmap", "map", "grad", "jvp", "linearize", "named"]
CLOSED = ["custom_jvp", "custom_vjp", "custom_gradient"]
REVERSE_ONLY = ["custom_vjp", "custom_gradient"]
FORWARD = ["jvp", "linearize", "custom_jvp"]  # inside of these there is nothing of the former
# fmt: on
BASIC = [("v", VECTOR), ("vv", VECTORS), ("mv", MATRIX_VECTOR), ("m", MATRIX), ("outer", {"outer": jnp.outer})]


def random_program(choices, length, depth=2, forward=False):
    """A program of ``length`` operations, those of nested programs apart."""
    holders = [name for name in (*HOLDERS, *CLOSED) if not (forward and name in REVERSE_ONLY)]
    program = []
    for _ in range(length):
        numbers = [choices.randrange(8) for _ in range(3)]
        if depth and choices.random() < 0.35:
            name = choices.choice(holders)
            program.append(
                (name, *numbers, random_program(choices, choices.randint(1, 3), depth - 1, forward or name in FORWARD))
            )
        else:
            kind, table = choices.choices(BASIC, weights=[8, 5, 3, 2, 1])[0]
            program.append((choices.choice(list(table)), *numbers))
    return tuple(program)


def parts(program):
    """Simpler programs: one operation left out, replaced by the program that it holds, or with a simpler one inside."""
    for place, operation in enumerate(program):
        before, after = program[:place], program[place + 1 :]
        yield (*before, *after)
        if isinstance(operation[-1], tuple):
            yield (*before, *operation[-1], *after)
            for inner in parts(operation[-1]):
                if inner:
                    yield (*before, (*operation[:-1], inner), *after)


def run(program, vectors, matrices):
    """The last vector after a program, which sees some vectors and matrices."""
    vectors, matrices = list(vectors), list(matrices)
    for name, *numbers in program:
        body = numbers.pop() if isinstance(numbers[-1], tuple) else None
        v, w = (vectors[-1 - number % len(vectors)] for number in numbers[:2])
        m = matrices[-1 - numbers[2] % len(matrices)]
        if name in VECTOR:
            vectors.append(VECTOR[name](v))
        elif name in VECTORS:
            vectors.append(VECTORS[name](v, w).astype(v.dtype))
        elif name in MATRIX_VECTOR:
            vectors.append(MATRIX_VECTOR[name](m, v).astype(v.dtype))
        elif name in MATRIX:
            matrices.append(MATRIX[name](m).astype(v.dtype))
        elif name == "outer":
            matrices.append(jnp.outer(v, w) / N)
        else:
            inner = inner_function(
                body, [] if name in CLOSED else vectors, [np.eye(N, dtype=v.dtype)] if name in CLOSED else matrices
            )
            vectors.append(holding(name, inner, v, m, numbers[0]).astype(v.dtype))
    return vectors[-1]


def inner_function(body, vectors, matrices):
    return lambda v: run(body, [*vectors, v], matrices)


def holding(name, f, v, m, number):
    """The result of an operation that holds a function of a vector."""
    if name == "jit":
        return arrax.jit(f)(v)
    if name == "named":
        return arrax.named_call(f, name="inner")(v)
    if name == "checkpoint":
        policy = [None, policies.dots_saveable, policies.everything_saveable, policies.nothing_saveable][number % 4]
        return arrax.checkpoint(f, policy=policy)(v)
    if name == "scan":
        carry, ys = lax.scan(lambda c, row: (jnp.tanh(f(c)) + row / N, f(row)), v, m, reverse=number % 2 == 1)
        return carry + jnp.tanh(ys).sum(0)
    if name == "fori":
        return lax.fori_loop(0, number % 3 + 1, lambda i, c: jnp.tanh(f(c)) * (i + 1) / 2, v).astype(v.dtype)
    if name == "cond":
        return lax.cond(v[0] > 0.1 * number, f, lambda v: v * 0.5, v)
    if name == "switch":
        return lax.switch((jnp.abs(v[0]) * 3).astype(int), [f, jnp.sin, lambda v: v[::-1]], v)
    if name == "vmap":
        return arrax.vmap(lambda row: lax.pmean(jnp.tanh(f(row)), "rows") + row * v, axis_name="rows")(m).sum(0) / N
    if name == "map":
        return lax.map(f, m, batch_size=[None, 2][number % 2]).sum(0) / N
    if name == "grad":
        return jnp.tanh(arrax.grad(lambda v: jnp.tanh(f(v)).sum())(v))
    if name == "jvp":
        return jnp.tanh(arrax.jvp(f, (v,), (jnp.tanh(v),))[1])
    if name == "linearize":
        y, linear = arrax.linearize(f, v)
        return jnp.tanh(linear(jnp.tanh(y)))
    if name == "custom_jvp":
        wrapped = arrax.custom_jvp(f)
        wrapped.defjvp(lambda primals, tangents: arrax.jvp(f, primals, tangents))
        return wrapped(v)
    if name == "custom_vjp":
        wrapped = arrax.custom_vjp(f)
        wrapped.defvjp(lambda v: arrax.vjp(f, v), lambda pull, ct: pull(ct))
        return wrapped(v)
    assert name == "custom_gradient", name
    return arrax.custom_gradient(lambda v: arrax.vjp(f, v))(v)


def uses_reverse_rules(program):
    """Whether forward mode over the program is refused: rules for reverse mode only."""
    return any(
        operation[0] in REVERSE_ONLY or (isinstance(operation[-1], tuple) and uses_reverse_rules(operation[-1]))
        for operation in program
    )


def drawn(seed):
    """(program, name of its dtype) of a seed."""
    choices = random.Random(f"composition {seed}")
    dtype = choices.choices(["float64", "float32", "float16", "bfloat16"], weights=[6, 2, 1, 1])[0]
    return random_program(choices, choices.randint(2, 6)), dtype

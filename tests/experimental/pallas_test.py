"""Kernels of Pallas: blocks, grids, references, transformations, and errors."""

from functools import partial

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import pallas as pl
from arrax.experimental.pallas import tpu as pltpu
from arrax.test_util import check_grads

F32 = np.float32


def copied(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def sine(x_ref, o_ref):
    o_ref[...] = jnp.sin(x_ref[...])


def like(x, shape=None):
    return arrax.ShapeDtypeStruct(x.shape if shape is None else shape, x.dtype)


MATRIX = np.arange(24, dtype=F32).reshape(4, 6)
ROW = MATRIX[0]
HALVES = pl.BlockSpec((3,), lambda i: i)


def test_reductions_over_an_axis_of_the_grid_accumulate_in_scratch_memory():
    def kernel(x_ref, y_ref, o_ref, total_ref):
        @pl.when(pl.program_id(2) == 0)
        def clear():
            total_ref[...] = jnp.zeros_like(total_ref)

        total_ref[...] += x_ref[...] @ y_ref[...]

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def write():
            o_ref[...] = total_ref[...]

    y = np.arange(48, dtype=F32).reshape(6, 8)
    product = pl.pallas_call(
        kernel, out_shape=like(y, (4, 8)), grid=(2, 2, 3),
        in_specs=[pl.BlockSpec((2, 2), lambda i, j, k: (i, k)), pl.BlockSpec((2, 4), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((2, 4), lambda i, j, k: (i, j)), scratch_shapes=[pltpu.VMEM((2, 4), F32)],
    )  # fmt: skip
    np.testing.assert_array_equal(product(MATRIX, y), MATRIX @ y)


def test_blocks_of_a_result_are_kept_while_programs_in_a_row_see_them():
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def clear():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    rows, whole = pl.BlockSpec((None, 6), lambda i: (i, 0)), pl.BlockSpec((6,), lambda i: 0)
    total = pl.pallas_call(kernel, out_shape=like(ROW), grid=4, in_specs=[rows], out_specs=whole)
    np.testing.assert_array_equal(total(MATRIX), MATRIX.sum(0))


@pytest.mark.parametrize("order", [lambda shape, index: (shape, index), lambda shape, index: (index, shape)])
@pytest.mark.parametrize("block", [(2, 3), (3, 4), (4, 6), (1, 1)])
def test_blocks_that_do_not_divide_an_array_stand_out(block, order):
    spec = pl.BlockSpec(*order(block, lambda i, j: (i, j)))
    grid = (pl.cdiv(4, block[0]), pl.cdiv(6, block[1]))
    call = pl.pallas_call(copied, out_shape=like(MATRIX), grid=grid, in_specs=[spec], out_specs=spec)
    np.testing.assert_array_equal(call(MATRIX), MATRIX)


def test_index_maps_of_elements_let_blocks_overlap():
    def kernel(x_ref, o_ref):
        o_ref[0] = x_ref[...].sum()

    spec = pl.BlockSpec((pl.Element(3, (1, 1)),), lambda i: (i,))
    call = pl.pallas_call(
        kernel, out_shape=like(ROW, (6,)), grid=6, in_specs=[spec], out_specs=pl.BlockSpec((1,), lambda i: (i,))
    )
    np.testing.assert_array_equal(call(ROW)[1:-1], np.convolve(ROW, np.ones(3), "valid"))
    assert np.isnan(call(ROW)[::5]).all()


def test_index_maps_see_prefetched_operands():
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(3,), in_specs=[pl.BlockSpec((1, 6), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((1, 6), lambda i, order: (i, 0)),
    )  # fmt: skip
    order = np.array([2, 0, 3])
    call = pl.pallas_call(lambda order, x, o: copied(x, o), out_shape=like(ROW, (3, 6)), grid_spec=spec)
    np.testing.assert_array_equal(call(order, MATRIX), MATRIX[order])


def test_results_hold_nothing_or_an_operand_in_the_beginning():
    def first_row(x_ref, o_ref):
        o_ref[0] = x_ref[0] + 1

    call = partial(pl.pallas_call, first_row, out_shape=like(MATRIX))
    expected = np.concatenate([MATRIX[:1] + 1, MATRIX[1:]])
    np.testing.assert_array_equal(call(input_output_aliases={0: 0})(MATRIX), expected)
    assert np.isnan(call()(MATRIX)[1:]).all()
    empty = pl.pallas_call(lambda o_ref: None, out_shape=arrax.ShapeDtypeStruct((2,), np.int8))()
    np.testing.assert_array_equal(empty, [-128, -128])


def test_operands_and_results_are_trees():
    def kernel(parts, out):
        out["sum"][...] = parts["a"][...] + parts["b"][0][...]

    parts = {"a": ROW, "b": [ROW]}
    out = pl.pallas_call(kernel, out_shape={"sum": like(ROW)})(parts)
    np.testing.assert_array_equal(out["sum"], 2 * ROW)
    blocked = pl.pallas_call(kernel, out_shape={"sum": like(ROW)}, grid=2, in_specs=[HALVES], out_specs={"sum": HALVES})
    np.testing.assert_array_equal(blocked(parts)["sum"], 2 * ROW)

    def two(x_ref, a_ref, b_ref, *, scratch):
        scratch[...] = x_ref[...]
        a_ref[...], b_ref[...] = scratch[...] + 1, scratch[...].sum()

    results = pl.pallas_call(
        two, out_shape=[like(ROW), like(ROW, ())], scratch_shapes={"scratch": pltpu.SMEM((6,), F32)}
    )(ROW)
    np.testing.assert_array_equal(results[0], ROW + 1)
    assert results[1] == ROW.sum()


def test_memory_is_read_and_written_in_parts_and_by_masks():
    def kernel(x_ref, o_ref):
        start = pl.program_id(0) * 2
        pl.store(o_ref, (0, pl.ds(0, 2)), pl.load(x_ref, (1, pl.dslice(start, size=2))))
        index = jnp.arange(2) + 5 * pl.program_id(0)
        o_ref[1, :] = pl.load(x_ref, (0, index), mask=index < 6, other=-1.0)
        pl.store(o_ref, (pl.Slice(2, 1), slice(None)), 7.0)
        pl.store(o_ref, (2,), jnp.ones(2), mask=jnp.array([False, True]))

    out = pl.pallas_call(
        kernel, out_shape=like(ROW, (2, 3, 2)), grid=2, out_specs=pl.BlockSpec((None, 3, 2), lambda i: (i, 0, 0))
    )(MATRIX)
    np.testing.assert_array_equal(out, [[[6, 7], [0, 1], [7, 1]], [[8, 9], [5, -1], [7, 1]]])


def test_masked_slices_may_lie_partly_outside():
    def kernel(x_ref, o_ref):
        start = pl.program_id(0) * 3 - 1
        inside = (start + jnp.arange(3) >= 0) & (start + jnp.arange(3) < 4)
        value = pl.load(x_ref, (1, pl.ds(start, 3)), mask=inside, other=-1.0)
        pl.store(o_ref, (pl.ds(start, 3), slice(1, 3)), value[:, None] * jnp.ones(2), mask=inside[:, None])
        pl.store(o_ref, (pl.ds(2, 4), 0), pl.load(x_ref, (0, pl.ds(0, 4))), mask=jnp.arange(4) < 2)
        pl.store(o_ref, (pl.ds(0, 2), 0), 9.0)

    x = jnp.arange(8.0).reshape(2, 4)
    out = pl.pallas_call(kernel, out_shape=like(ROW, (4, 3)), grid=2)(x)
    np.testing.assert_array_equal(out, [[9, 4, 4], [9, 5, 5], [0, 6, 6], [1, 7, 7]])


def test_control_flow_in_kernels():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        @pl.loop(0, 4, step=2)
        def add(i):
            o_ref[...] += x_ref[i]

        count = pl.loop(0, 3, init_carry=0.0)(lambda i, carry: carry + 1.0)
        pl.when(True)(lambda: o_ref.set(o_ref[1] + count, 1))
        pl.when(False)(lambda: o_ref.set(-1.0, 2))
        o_ref[0] = lax.while_loop(lambda v: v < 100, lambda v: 2 * v, o_ref[0])

    expected = MATRIX[0] + MATRIX[2]
    expected[1] += 3
    expected[0] = 192
    np.testing.assert_array_equal(pl.pallas_call(kernel, out_shape=like(ROW))(MATRIX), expected)


def test_scoped_memory_copies_and_pipelines():
    def kernel(x_ref, o_ref, semaphore):
        def scoped(ref):
            copy = pltpu.make_async_copy(x_ref, ref, semaphore)
            copy.start()
            copy.wait()
            pltpu.async_copy(ref, o_ref, semaphore).wait()
            pltpu.sync_copy(x_ref.at[pl.ds(0, 2)], o_ref.at[pl.ds(2, 2)], add=True)

        pl.run_scoped(scoped, pltpu.VMEM((6,), F32))

    out = pl.pallas_call(kernel, out_shape=like(ROW), scratch_shapes=[pltpu.SemaphoreType.DMA])(ROW)
    np.testing.assert_array_equal(out, [0, 1, 2, 4, 4, 5])
    spec = pl.BlockSpec((None, 3), lambda i, j: (i, j))
    pipeline = pltpu.emit_pipeline(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] + pl.program_id(1)), grid=(4, 2), in_specs=[spec], out_specs=[spec]
    )  # fmt: skip
    np.testing.assert_array_equal(
        pl.pallas_call(pipeline, out_shape=like(MATRIX))(MATRIX), MATRIX + np.repeat([0, 1], 3)
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint32", "bool", "complex64"])
def test_kernels_of_all_dtypes(dtype):
    x = jnp.arange(6).astype(dtype)
    call = pl.pallas_call(copied, out_shape=x, grid=2, in_specs=[HALVES], out_specs=HALVES)
    np.testing.assert_array_equal(call(x), x)
    assert call(x).dtype == x.dtype


@pytest.mark.parametrize("grid", [(), 2])
def test_kernels_are_transformed(grid):
    specs = {"grid": grid} if grid == () else {"grid": grid, "in_specs": [HALVES], "out_specs": HALVES}
    call = pl.pallas_call(sine, out_shape=like(ROW), **specs)
    np.testing.assert_allclose(arrax.vmap(call)(MATRIX), np.sin(MATRIX), atol=1e-6)
    np.testing.assert_array_equal(arrax.vmap(call, 1, 1)(MATRIX.T), call_rows(call).T)
    value, slope = arrax.jvp(call, (ROW,), (np.ones(6, F32),))
    np.testing.assert_allclose(slope, np.cos(ROW), atol=1e-6)
    np.testing.assert_array_equal(value, call(ROW))
    check_grads(call, (ROW,), order=2, modes=["fwd", "rev"], atol=1e-2, rtol=1e-2)
    np.testing.assert_array_equal(arrax.jit(call)(ROW), call(ROW))


def call_rows(call):
    return np.stack([call(row) for row in MATRIX])


def test_transformations_inside_of_kernels_and_prints(capfd):
    def kernel(x_ref, o_ref):
        pl.debug_print("program {}", pl.program_id(0))
        o_ref[...] = arrax.vmap(arrax.grad(jnp.sin))(x_ref[...])

    out = pl.pallas_call(kernel, out_shape=like(ROW), grid=2, in_specs=[HALVES], out_specs=HALVES)(ROW)
    arrax.effects_barrier()
    np.testing.assert_allclose(out, np.cos(ROW), atol=1e-6)
    assert sorted(capfd.readouterr().out.split("\n")) == ["", "program 0", "program 1"]


def test_names_reach_the_program():
    call = pl.pallas_call(copied, out_shape=like(ROW), name="my_kernel", debug=False)
    assert "name=my_kernel" in str(arrax.make_jaxpr(call)(ROW))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: pl.pallas_call(3, out_shape=ROW), TypeError, "must be callable"),
        (lambda: pl.pallas_call(copied, out_shape=3), TypeError, "out_shape must consist of objects with shape and dtype"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, grid=2.5), TypeError, "grid must be an integer"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, grid=2, grid_spec=pl.GridSpec()), ValueError, "in grid_spec, or without"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, in_specs=[3])(ROW), TypeError, r"args\[0\] must be a BlockSpec"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, in_specs=[HALVES])(MATRIX), ValueError, r"block shape \(3,\) of args\[0\]"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, grid=(2, 2), in_specs=[HALVES])(ROW), TypeError, "the index map of args"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, in_specs=[HALVES] * 2)(ROW), ValueError, "in_specs"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, in_specs=[pl.BlockSpec((6,), lambda: 0.5)])(ROW), ValueError,
         r"the index map of args\[0\] must return integers, got .*float"),
        (lambda: pl.pallas_call(lambda x, o: x[...], out_shape=ROW)(ROW), ValueError, "must return nothing"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, input_output_aliases={1: 0})(ROW), ValueError, "input_output_aliases"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, input_output_aliases={0: 0})(MATRIX), ValueError, "must be of one type"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, compiler_params=pl.CompilerParams(dimension_semantics=("parallel",))), ValueError, "dimension_semantics"),
        (lambda: pl.pallas_call(lambda o: o.set(pl.program_id(1)), out_shape=ROW, grid=2)(), ValueError, "axis 1 is out of bounds"),
        (lambda: pl.program_id(0), ValueError, "no grid outside of a kernel"),
        (lambda: pl.BlockSpec((0,)), ValueError, "positive integers"),
        (lambda: pl.BlockSpec((2,), 3), TypeError, "index_map must be a function"),
        (lambda: pl.pallas_call(lambda x, o: o.set(jnp.sin(x)), out_shape=ROW)(ROW), TypeError, "read it first"),
        (lambda: pl.next_power_of_2(-1), ValueError, "must not be negative"),
        (lambda: pl.next_power_of_2(1.5), TypeError, "integer"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, scratch_shapes=[3])(ROW), TypeError, "memory must be given by objects"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, scratch_shapes="all")(ROW), TypeError, "memory must be given by objects"),
        (lambda: pl.run_scoped(lambda ref: None, 3), TypeError, "run_scoped: .*memory must be given by objects"),
        (lambda: pl.pallas_call(copied, out_shape=ROW, input_output_aliases={"x": 0}), TypeError, "pallas_call.*integer"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_numbers_for_grids():
    assert [pl.cdiv(7, 2), pl.align_to(7, 4), pl.next_power_of_2(9), pl.next_power_of_2(0)] == [4, 8, 16, 1]
    assert pl.strides_from_shape((2, 3, 4)) == (12, 4, 1)
    np.testing.assert_array_equal(pltpu.roll(MATRIX, 1, 1), np.roll(MATRIX, 1, 1))
    rows = np.stack([np.roll(row, 1 + 2 * i) for i, row in enumerate(MATRIX)])
    np.testing.assert_array_equal(pltpu.roll(MATRIX, 1, 1, stride=2, stride_axis=0), rows)


def test_semaphores_count_from_zero():
    def kernel(o_ref, semaphores, copied):
        pl.semaphore_signal(semaphores.at[1], 3)
        o_ref[0] = pl.semaphore_read(semaphores.at[0])
        pl.semaphore_wait(semaphores.at[1], 2)
        o_ref[1] = pl.semaphore_read(semaphores.at[1])
        pl.semaphore_wait(semaphores.at[1], decrement=False)
        pl.run_scoped(lambda s: pl.semaphore_signal(s, o_ref[1]), pltpu.SemaphoreType.REGULAR)
        o_ref[2] = pl.semaphore_read(semaphores.at[1]) + pl.semaphore_read(copied)

    kinds = [pltpu.SemaphoreType.REGULAR((2,)), pltpu.SemaphoreType.DMA]
    out = pl.pallas_call(kernel, out_shape=arrax.ShapeDtypeStruct((3,), jnp.int32), scratch_shapes=kinds)()
    assert out.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="semaphore_signal: expected a single semaphore"):
        pl.run_scoped(pl.semaphore_signal, kinds[0])


def test_functions_of_references_are_functions_of_arrays():
    def swap(refs):
        refs["a"][...], refs["b"][...] = refs["b"][...] * refs["b"][...], refs["a"][...]

    run = pl.run_state(swap)
    out = arrax.jit(run)({"a": ROW, "b": 2 * ROW})
    np.testing.assert_array_equal(out["a"], 4 * ROW * ROW)
    np.testing.assert_array_equal(out["b"], ROW)
    np.testing.assert_array_equal(arrax.grad(lambda v: run({"a": v, "b": v})["a"].sum())(ROW), 2 * ROW)
    np.testing.assert_array_equal(arrax.vmap(run)({"a": MATRIX, "b": MATRIX})["a"], MATRIX * MATRIX)
    with pytest.raises(ValueError, match="must return nothing"):
        pl.run_state(lambda ref: ref[...])(ROW)
    made = pl.empty((2, 3), F32), pl.empty_ref_like(pltpu.VMEM((2, 3), F32))
    assert [(v.shape, v.dtype) for v in made] == [((2, 3), F32)] * 2


def test_memory_of_kernels_for_other_devices():
    def kernel(x_ref, o_ref):
        pltpu.touch(x_ref)
        o_ref[...] = jnp.zeros_like(o_ref)
        pltpu.store(o_ref.at[0], x_ref[0], mask=jnp.arange(6) < 2)
        pltpu.store(o_ref.at[1, pl.ds(1, 2)], pltpu.load(x_ref.at[1, pl.ds(0, 2)]))

    out = pl.pallas_call(kernel, out_shape=like(MATRIX, (2, 6)))(MATRIX + 1)
    np.testing.assert_array_equal(out, [[1, 2, 0, 0, 0, 0], [0, 7, 8, 0, 0, 0]])
    halves = pltpu.bitcast(MATRIX, jnp.int16)
    np.testing.assert_array_equal(halves[1::2], (MATRIX.view(np.int32) >> 16).astype(np.int16))
    np.testing.assert_array_equal(pltpu.bitcast(halves, F32), MATRIX)
    assert pltpu.bitcast(MATRIX, jnp.int32).shape == (4, 6)
    with pytest.raises(ValueError, match="bitcast"):
        pltpu.bitcast(ROW, jnp.int16)


def test_specifications_are_equal_by_what_they_say():
    assert pl.BlockSpec((3,), HALVES.index_map) == HALVES != pl.BlockSpec((2,), HALVES.index_map)
    assert hash(HALVES.replace()) == hash(HALVES)


def costs(fun, *args, **kwargs):
    estimate = pl.estimate_cost(fun, *args, **kwargs)
    return estimate.flops, estimate.transcendentals, estimate.bytes_accessed


def test_costs_are_counted_from_programs():
    halves = arrax.ShapeDtypeStruct((6,), jnp.bfloat16)
    assert costs(lambda a, b: jnp.exp(a @ b), MATRIX, MATRIX.T) == (192, 16, 2 * 96 + 64)
    assert costs(arrax.jit(lambda a: jnp.sin(a) + a * 2), halves) == (12, 6, 24)
    assert [costs(lambda a, n=n: lax.integer_pow(a, n), ROW)[0] // 6 for n in (1, 2, 3, 8, -1)] == [0, 2, 3, 4, 1]
    assert costs(lambda a: a.T.reshape(24)[:6].astype(int), MATRIX) == (0, 0, 96 + 24)
    assert costs(lambda a, *, b: jnp.clip(a, 0, 1) + b, ROW, b=MATRIX[0]) == (18, 0, 48)
    assert costs(lambda a: lax.scan(lambda c, x: (c + x, jnp.sin(c)), 0.0, a), ROW) == (6, 6, 24 + 28)
    assert costs(lambda a: lax.cond(a[0] > 0, lambda a: a, lambda a: a * a, a), ROW)[0] == 6


CORES = pltpu.create_tensorcore_mesh("core", num_cores=2)
core_index = arrax.jit(lambda: lax.axis_index("core"))


@pytest.mark.parametrize("index", [lambda: lax.axis_index("core"), core_index])
def test_kernels_run_on_each_core(index):
    @pl.kernel(out_type=(like(ROW), like(ROW, (2,))), mesh=CORES, scratch_types={"own": pltpu.VMEM((3,), F32)})
    def kernel(x_ref, o_ref, size_ref, *, own):
        part = pl.ds(index() * 3, 3)
        pltpu.sync_copy(x_ref.at[part], own)
        pl.when(index() == 1)(lambda: own.set(-own[...]))
        pltpu.sync_copy(own, o_ref.at[part])
        size_ref[index()] = lax.axis_size("core") + jnp.float32(0)

    for _ in range(2):
        out, sizes = kernel(ROW)
        np.testing.assert_array_equal(out, [0, 1, 2, -3, -4, -5])
        assert sizes.tolist() == [2, 2]
    np.testing.assert_array_equal(arrax.grad(lambda x: kernel(x)[0].sum())(ROW), [1, 1, 1, -1, -1, -1])
    with pytest.raises(NameError, match="core"):
        index()


def test_cores_share_references():
    def run(ref):
        inner = arrax.vmap(lambda x: x + lax.axis_index("core"), axis_name="core")
        pl.core_map(CORES, scratch_shapes=[pltpu.SMEM((), F32)])(lambda own: ref.set(inner(ref[...])))

    np.testing.assert_array_equal(pl.run_state(run)(ROW), 3 * ROW)
    with pytest.raises(ValueError, match="core_map: the kernel .* must return nothing"):
        pl.kernel(lambda ref: ref[...], mesh=CORES)(ROW)


def test_places_in_the_grid_have_32_bits_where_default_integers_have_64():
    def kernel(x_ref, o_ref):
        assert pl.program_id(0).dtype == pl.program_id(1).dtype == np.int32
        first = pl.program_id(0) == 0
        o_ref[...] = jnp.where(first & (pl.program_id(1) > 0), x_ref[...], -x_ref[...])

    def pipeline(x_ref, o_ref):
        halves = pl.BlockSpec((2, 6), lambda i: (i, 0))
        pltpu.emit_pipeline(step, grid=(2,), in_specs=[halves], out_specs=halves)(x_ref, o_ref)

    def step(x_ref, o_ref):
        assert pl.program_id(0).dtype == np.int32
        o_ref[...] = x_ref[...] * (pl.program_id(0) + 1)

    quarters = pl.BlockSpec((2, 3), lambda i, j: (i, j))
    with arrax.enable_x64(True):
        signs = pl.pallas_call(kernel, out_shape=like(MATRIX), grid=(2, 2), in_specs=[quarters], out_specs=quarters)(
            MATRIX
        )
        scaled = pl.pallas_call(pipeline, out_shape=like(MATRIX))(MATRIX)
    np.testing.assert_array_equal(signs, np.where((np.arange(4) < 2)[:, None] & (np.arange(6) > 2), MATRIX, -MATRIX))
    np.testing.assert_array_equal(scaled, MATRIX * np.array([1, 1, 2, 2], F32)[:, None])


@pytest.mark.parametrize(
    "wrap", [lambda call: call, arrax.jit, lambda call: lambda x: arrax.vmap(call)(jnp.full(1, x))[0]]
)
def test_results_are_not_weakly_typed(wrap):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.full(2, x_ref[...])

    found = wrap(pl.pallas_call(kernel, out_shape=arrax.ShapeDtypeStruct((2,), F32)))(3.0)
    np.testing.assert_array_equal(found, [3, 3])
    assert not found.weak_type

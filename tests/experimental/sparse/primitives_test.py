"""Programs record sparse functions by their names, and every transformation takes them as what they consist of."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import checkify, jet, sparse
from arrax.experimental.sparse import primitives
from tests.support import check_gradients

DENSE = np.array([[0, 2, 0], [3, 0, 1]], np.float32)
VECTOR = np.array([1, 2, 3], np.float32)
PRODUCT = (((1,), (0,)), ((), ()))
NAMES = [name for name in vars(primitives) if name.endswith("_p")]


def bcoo(data=None, **options):
    mat = sparse.BCOO.fromdense(DENSE, nse=4, **options)
    return mat if data is None else sparse.BCOO((data, mat.indices), shape=mat.shape)


def bcsr():
    return sparse.bcsr_fromdense(DENSE, nse=4)


# fmt: off
USES = {  # what is recorded by the names: functions of a sparse array's elements
    "bcoo_todense": lambda data: sparse.bcoo_todense(bcoo(data)),
    "bcoo_fromdense": lambda data: sparse.bcoo_fromdense(DENSE * data[0], nse=4).data,
    "bcoo_extract": lambda data: sparse.bcoo_extract(bcoo(), DENSE * data[0]).data,
    "bcoo_transpose": lambda data: sparse.bcoo_transpose(bcoo(data), permutation=(1, 0)).data,
    "bcoo_sort_indices": lambda data: sparse.bcoo_sort_indices(bcoo(data)).data,
    "bcoo_sum_duplicates": lambda data: sparse.bcoo_sum_duplicates(bcoo(data), nse=4).data,
    "bcoo_dot_general": lambda data: sparse.bcoo_dot_general(bcoo(data), VECTOR, dimension_numbers=PRODUCT),
    "bcoo_spdot_general": lambda data: sparse.bcoo_dot_general(bcoo(data), bcoo().T, dimension_numbers=PRODUCT).data,
    "bcoo_dot_general_sampled":
        lambda data: sparse.bcoo_dot_general_sampled(DENSE * data[0], DENSE.T, bcoo().indices % 2, dimension_numbers=PRODUCT),
    "bcsr_todense": lambda data: sparse.bcsr_todense(sparse.BCSR((data, *parts(bcsr())), shape=(2, 3))),
    "bcsr_fromdense": lambda data: sparse.bcsr_fromdense(DENSE * data[0], nse=4).data,
    "bcsr_extract": lambda data: sparse.bcsr_extract(*parts(bcsr()), DENSE * data[0]),
    "bcsr_dot_general":
        lambda data: sparse.bcsr_dot_general(sparse.BCSR((data, *parts(bcsr())), shape=(2, 3)), VECTOR, dimension_numbers=PRODUCT),
    "coo_todense": lambda data: sparse.coo_todense(coo(data)),
    "coo_fromdense": lambda data: sparse.coo_fromdense(DENSE * data[0], nse=4).data,
    "coo_matvec": lambda data: sparse.coo_matvec(coo(data), VECTOR),
    "coo_matmat": lambda data: sparse.coo_matmat(coo(data), DENSE, transpose=True),
    "csr_todense": lambda data: sparse.csr_todense(csr(data)),
    "csr_fromdense": lambda data: sparse.csr_fromdense(DENSE * data[0], nse=4).data,
    "csr_matvec": lambda data: sparse.csr_matvec(csr(data), VECTOR, False),
    "csr_matmat": lambda data: sparse.csr_matmat(csr(data), DENSE, transpose=True),
    "todense": lambda data: sparse.todense(bcoo(data)),
}
# fmt: on


def parts(mat):
    return mat.indices, mat.indptr


def coo(data):
    mat = sparse.COO.fromdense(DENSE, nse=4)
    return sparse.COO((data, mat.row, mat.col), shape=mat.shape)


def csr(data):
    mat = sparse.CSR.fromdense(DENSE, nse=4)
    return sparse.CSR((data, mat.indices, mat.indptr), shape=mat.shape)


DATA = np.array([2.0, 3.0, 1.0, 0.0], np.float32)


def test_every_operation_has_a_use_here():
    assert {f"{name}_p" for name in USES} == {*NAMES}
    assert all(getattr(sparse, name) is getattr(primitives, name) for name in NAMES)


@pytest.mark.parametrize("name", USES)
def test_programs_record_a_function_by_its_name_and_run_it(name):
    function = USES[name]
    program = arrax.make_jaxpr(function)(DATA)
    recorded = [eqn.primitive for eqn in program.eqns]
    assert getattr(sparse, f"{name}_p") in recorded and f"{name}[" in str(program)
    wanted = np.asarray(function(DATA))
    np.testing.assert_array_equal(arrax.jit(function)(DATA), wanted)
    rows = np.stack([DATA, 2 * DATA])
    np.testing.assert_array_equal(arrax.vmap(function)(rows), np.stack([function(row) for row in rows]))


@pytest.mark.parametrize("name", USES)
def test_derivatives_are_those_of_what_it_consists_of(name):
    check_gradients(USES[name], [DATA.astype(np.float64)], order=1)


def test_calls_of_one_type_share_what_they_consist_of():
    mat = sparse.BCOO.fromdense(DENSE)
    calls = [arrax.make_jaxpr(function)(mat) for function in (lambda m: m @ VECTOR, lambda m: 2 * m @ VECTOR[::-1])]
    calls.append(arrax.make_jaxpr(lambda m: m @ VECTOR)(sparse.BCOO.fromdense(DENSE.astype(np.float16))))
    first, second, other = [
        eqn.params["jaxpr"] for program in calls for eqn in program.eqns if eqn.primitive is sparse.bcoo_dot_general_p
    ]
    assert first is second and other is not first


def test_sparse_arrays_go_through_loops_series_and_sparsified_functions():
    mat = bcoo()
    looped = arrax.jit(lambda mat, v: lax.fori_loop(0, 3, lambda i, v: mat.T @ (mat @ v), v))(mat, VECTOR)
    np.testing.assert_allclose(looped, np.linalg.matrix_power(DENSE.T @ DENSE, 3) @ VECTOR, rtol=1e-5)
    value, (slope,) = jet.jet(lambda data: bcoo(data) @ VECTOR, (DATA,), ([DATA],))
    np.testing.assert_allclose([value, slope], [DENSE @ VECTOR] * 2)
    inside = sparse.sparsify(lambda mat, v: sparse.todense(bcoo()) @ v + mat @ v)
    np.testing.assert_allclose(arrax.jit(inside)(mat, VECTOR), 2 * DENSE @ VECTOR)
    assert sparse.todense(DENSE) is DENSE


def test_checks_look_inside():
    checked = checkify.checkify(arrax.jit(lambda data, v: bcoo(data) @ v), checkify.float_checks)
    said = checked(np.full(4, np.inf, np.float32), np.zeros(3, np.float32))[0].get()
    assert "nan generated by primitive mul" in str(said)


def test_what_is_refused_is_refused_by_the_function():
    with pytest.raises(arrax.errors.ConcretizationTypeError, match="nse"):
        arrax.jit(lambda x: sparse.bcoo_fromdense(x).data)(jnp.asarray(DENSE))
    with pytest.raises(TypeError, match="bcoo_dot_general"):
        arrax.jit(lambda m: sparse.bcoo_dot_general(m, "text", dimension_numbers=PRODUCT))(bcoo())

"""Arrays among other libraries: NumPy, SciPy, pandas, matplotlib, scikit-learn, joblib; files and other processes."""

import copy
import io
import math
import multiprocessing
import pickle

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats

import arrax
import arrax.numpy as jnp

N = np.arange(6, dtype=np.float32).reshape(2, 3)
X = jnp.asarray(N)


def test_numpy_looks_at_arrays_without_copying():
    assert np.shares_memory(np.asarray(X), np.asarray(X)) and np.shares_memory(np.array(X, copy=False), np.asarray(X))
    assert np.array(X, dtype=np.float64).dtype == np.float64 and np.frombuffer(X, np.float32).size == 6
    np.testing.assert_array_equal(np.from_dlpack(X), N)


def test_numpys_functions_give_numpys_arrays_and_its_operators_ours():
    assert type(np.add(X, 1)) is np.ndarray and np.concatenate([X, np.ones((1, 3))]).shape == (3, 3)
    for value in (N + X, np.float32(2) * X, X - N, N @ X.T):
        assert isinstance(value, arrax.Array)
    target = np.zeros(3, np.float32)
    target[:] = X[1]
    np.testing.assert_array_equal(target, N[1])
    assert np.arange(5)[jnp.array([1, 2])].tolist() == [1, 2] and np.arange(3)[X[0] > 0].tolist() == [1, 2]


def test_python_takes_scalars_for_numbers():
    assert f"{X[0, 1]:.2f}" == "1.00" and math.sqrt(X[1, 1]) == 2 and round(X[0, 1], 1) == 1
    assert [7, 8][jnp.array(1)] == 8 and list(range(jnp.array(3))) == [0, 1, 2] and divmod(jnp.array(7), 2)[0] == 3


def test_arrays_in_files():
    for save, load in ((np.save, np.load), (jnp.save, jnp.load)):
        save(file := io.BytesIO(), X)
        file.seek(0)
        np.testing.assert_array_equal(load(file), N)
    np.savez(file := io.BytesIO(), a=X)
    file.seek(0)
    np.testing.assert_array_equal(np.load(file)["a"], N)


def test_arrays_of_64_bits_are_read_as_those_of_the_reading_program():
    with arrax.enable_x64(True):
        wide = jnp.array([4.0, 0.1])
        pickled = pickle.dumps(wide)
        assert pickle.loads(pickled).dtype == np.float64
    assert pickle.loads(pickled).dtype == np.float32 and copy.copy(wide).dtype == np.float64


def test_copies_and_pickles():
    for copied in (copy.copy(X), copy.deepcopy({"x": X})["x"], pickle.loads(pickle.dumps(X))):
        assert isinstance(copied, arrax.Array) and copied.sharding == X.sharding
        np.testing.assert_array_equal(copied, N)
    key = arrax.random.key(3)
    assert pickle.loads(pickle.dumps(key)) == key


def test_scipy_takes_arrays():
    np.testing.assert_allclose(scipy.linalg.norm(X), np.linalg.norm(N), rtol=1e-6)
    assert scipy.special.gamma(X + 1).shape == (2, 3) and (scipy.sparse.csr_matrix(X) @ jnp.ones(3)).tolist() == [3, 12]
    assert scipy.stats.ttest_ind(X[0], X[1]).pvalue < 1 and scipy.interpolate.interp1d(X[0], X[1])(0.5) == 3.5
    found = scipy.optimize.minimize(arrax.value_and_grad(lambda p: jnp.sum((p - 1) ** 2)), np.zeros(3), jac=True)
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_other_processes_take_functions_and_arrays():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (total,) = pool.map(jnp.sum, [X])
    assert isinstance(total, arrax.Array) and total == 15


def test_matplotlib_draws_arrays():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure, ax = pyplot.subplots()
    (line,) = ax.plot(X[0], X[1])
    ax.imshow(X), ax.bar(X[0], X[1]), ax.fill_between(X[0], X[0], X[1]), ax.contourf(X), ax.hist(X.ravel())
    (
        ax.errorbar(X[0], X[1], yerr=X[0]),
        ax.scatter(X[0], X[1], c=X[0]),
        ax.axhline(X[0, 1]),
        ax.text(X[0, 0], X[0, 1], ""),
    )
    ax.set_xlim(X[0, 0], X[0, 2])
    figure.savefig(io.BytesIO())
    assert line.get_ydata().tolist() == [3, 4, 5]
    pyplot.close(figure)


def test_pandas_takes_arrays():
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(X, columns=list("abc")).sum().tolist() == [3, 5, 7]
    table = pandas.DataFrame({"a": X[0], "b": X[1]})
    assert table.dtypes["a"] == np.float32 and pandas.Series(X[0]).sum() == 3 and len(pandas.cut(X[0], 2)) == 3
    np.testing.assert_array_equal(jnp.asarray(table), N.T)
    np.testing.assert_array_equal(jnp.asarray(table["b"]), N[1])


def test_scikit_learn_takes_arrays():
    linear_model = pytest.importorskip("sklearn.linear_model")
    metrics, selection = pytest.importorskip("sklearn.metrics"), pytest.importorskip("sklearn.model_selection")
    assert linear_model.LinearRegression().fit(X, jnp.arange(2.0)).predict(X).shape == (2,)
    assert metrics.accuracy_score(jnp.array([1, 0]), jnp.array([1, 1])) == 0.5
    assert len(selection.train_test_split(X, test_size=0.5)) == 2


def test_joblib_stores_arrays_and_sends_functions(tmp_path):
    joblib = pytest.importorskip("joblib")
    joblib.dump({"x": X}, tmp_path / "x")
    np.testing.assert_array_equal(joblib.load(tmp_path / "x")["x"], N)
    square = arrax.jit(lambda x: x * x)  # sent by value
    squares = joblib.Parallel(2)(joblib.delayed(square)(X[i]) for i in range(2))
    np.testing.assert_array_equal(np.stack(squares), N**2)


def test_pytorch_shares_memory():
    torch = pytest.importorskip("torch")
    tensor = torch.from_dlpack(X)
    assert tensor.data_ptr() == X.unsafe_buffer_pointer()
    np.testing.assert_array_equal(jnp.from_dlpack(torch.arange(6.0)), np.arange(6))

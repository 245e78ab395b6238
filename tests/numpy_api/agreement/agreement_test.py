"""Random expressions give NumPy's values, shapes and dtypes: eagerly, compiled, and mapped over batches."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.agreement.checking import FAMILIES, disagreements
from tests.numpy_api.agreement.expressions import Draw
from tests.numpy_api.agreement.movements import random_index


@pytest.mark.parametrize("x64", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("family", FAMILIES)
def test_random_expressions_agree_with_numpy(family, x64):
    with arrax.enable_x64(x64):
        faults = list(disagreements(family, x64, seed=0, count=32, eager=8, quickly=True))
    assert not faults, f"{len(faults)} disagreements:\n" + "\n".join(faults)


def test_derivatives_at_random_indices_put_cotangents_where_numpy_adds_them():
    draw, cases = Draw("derivatives", x64=False), []
    while len(cases) < 60:
        array = draw.array(["float32"], draw.shape(0, 4))
        index = random_index(draw, array.shape)
        weights = draw.array(["float32"], array[index].shape)
        expected = np.zeros_like(array)
        np.add.at(expected, index, weights)
        cases.append((index, array, weights, expected))

    def derivatives(arrays):
        return [
            arrax.grad(lambda x, index=index, weights=weights: jnp.sum(x[index] * weights))(array)
            for array, (index, _, weights, _) in zip(arrays, cases, strict=True)
        ]

    found = arrax.jit(derivatives)([array for _, array, _, _ in cases])
    for result, (index, array, _, expected) in zip(found, cases, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6, err_msg=f"{array.shape} at {index}")

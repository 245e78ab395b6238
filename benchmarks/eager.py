"""Calls on small arrays, one operation at a time: what interactive work consists of."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Repeated

Calls = dict[str, Callable[[], Any]]


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """All calls of this file."""
    for chapter in (
        arithmetic, functions, matrices, reductions, order, shapes, joining, indexing, updates, creation, random_numbers,
        conversions,
    ):  # fmt: skip
        for name, run in chapter(lib, jnp).items():
            yield Repeated(name, run)


def arithmetic(lib: ModuleType, jnp: ModuleType) -> Calls:
    """Elementwise operations, products, linear algebra."""
    x, y = jnp.arange(12.0).reshape(3, 4), jnp.ones((3, 4))
    whole, row, square = jnp.arange(12).reshape(3, 4), jnp.arange(4.0), jnp.eye(4) * 3 + 1
    host = np.ones((3, 4), np.float32)
    return {
        "x + y": lambda: x + y,
        "x * 2": lambda: x * 2,
        "2.5 - x": lambda: 2.5 - x,
        "x / y": lambda: x / y,
        "x ** 2": lambda: x**2,
        "-x": lambda: -x,
        "x + row (broadcast)": lambda: x + row,
        "whole + x (promotion)": lambda: whole + x,
        "whole // 3": lambda: whole // 3,
        "whole % 3": lambda: whole % 3,
        "x > y": lambda: x > y,
        "x + host array": lambda: x + host,
        "jnp.add(x, y)": lambda: jnp.add(x, y),
        "jnp.sin(x)": lambda: jnp.sin(x),
        "jnp.exp(x)": lambda: jnp.exp(x),
        "jnp.sqrt(x)": lambda: jnp.sqrt(x),
        "jnp.maximum(x, 0)": lambda: jnp.maximum(x, 0),
        "jnp.where(x > 3, x, y)": lambda: jnp.where(x > 3, x, y),
        "jnp.clip(x, 1, 5)": lambda: jnp.clip(x, 1, 5),
        "jnp.isnan(x)": lambda: jnp.isnan(x),
        "lax.add(x, y)": lambda: lib.lax.add(x, y),
        "nn.relu(x)": lambda: lib.nn.relu(x),
        "nn.softmax(x)": lambda: lib.nn.softmax(x),
        "x @ y.T": lambda: x @ y.T,
        "jnp.dot(row, row)": lambda: jnp.dot(row, row),
        "jnp.einsum('ij,kj->ik', x, y)": lambda: jnp.einsum("ij,kj->ik", x, y),
        "jnp.outer(row, row)": lambda: jnp.outer(row, row),
        "jnp.linalg.norm(x)": lambda: jnp.linalg.norm(x),
        "jnp.linalg.inv(square)": lambda: jnp.linalg.inv(square),
        "jnp.linalg.solve(square, row)": lambda: jnp.linalg.solve(square, row),
    }


def functions(lib: ModuleType, jnp: ModuleType) -> Calls:
    """More elementwise functions."""
    x, y, whole = jnp.arange(12.0).reshape(3, 4), jnp.full((3, 4), 2.0), jnp.arange(12).reshape(3, 4)
    row, mask = jnp.arange(4.0), jnp.arange(12).reshape(3, 4) > 4
    return {
        "abs(x)": lambda: abs(x),
        "x == y": lambda: x == y,
        "x // y": lambda: x // y,
        "x ** y": lambda: x**y,
        "whole & 3": lambda: whole & 3,
        "whole << 1": lambda: whole << 1,
        "~mask": lambda: ~mask,
        "mask & mask": lambda: mask & mask,
        "divmod(x, y)": lambda: divmod(x, y),
        "jnp.log(y)": lambda: jnp.log(y),
        "jnp.tanh(x)": lambda: jnp.tanh(x),
        "jnp.arctan2(x, y)": lambda: jnp.arctan2(x, y),
        "jnp.hypot(x, y)": lambda: jnp.hypot(x, y),
        "jnp.floor(x)": lambda: jnp.floor(x),
        "jnp.round(x, 1)": lambda: jnp.round(x, 1),
        "jnp.sign(x)": lambda: jnp.sign(x),
        "jnp.square(x)": lambda: jnp.square(x),
        "jnp.power(x, 2.5)": lambda: jnp.power(x, 2.5),
        "jnp.logaddexp(x, y)": lambda: jnp.logaddexp(x, y),
        "jnp.minimum(x, y)": lambda: jnp.minimum(x, y),
        "jnp.isclose(x, y)": lambda: jnp.isclose(x, y),
        "jnp.allclose(x, y)": lambda: jnp.allclose(x, y),
        "jnp.nan_to_num(x)": lambda: jnp.nan_to_num(x),
        "jnp.logical_and(mask, mask)": lambda: jnp.logical_and(mask, mask),
        "jnp.polyval(row, x)": lambda: jnp.polyval(row, x),
        "jnp.interp(x, row, row)": lambda: jnp.interp(x, row, row),
        "nn.gelu(x)": lambda: lib.nn.gelu(x),
        "nn.sigmoid(x)": lambda: lib.nn.sigmoid(x),
        "nn.one_hot(whole[0], 4)": lambda: lib.nn.one_hot(whole[0], 4),
    }


def matrices(lib: ModuleType, jnp: ModuleType) -> Calls:
    """More products and linear algebra."""
    x, row, square = jnp.arange(12.0).reshape(3, 4), jnp.arange(4.0), jnp.eye(4) * 3 + 1
    return {
        "square @ row": lambda: square @ row,
        "jnp.matmul(x, square)": lambda: jnp.matmul(x, square),
        "jnp.vdot(row, row)": lambda: jnp.vdot(row, row),
        "jnp.inner(x, row)": lambda: jnp.inner(x, row),
        "jnp.tensordot(x, x, 2)": lambda: jnp.tensordot(x, x, 2),
        "jnp.einsum('ij->ji', x)": lambda: jnp.einsum("ij->ji", x),
        "jnp.trace(square)": lambda: jnp.trace(square),
        "jnp.linalg.det(square)": lambda: jnp.linalg.det(square),
        "jnp.linalg.cholesky(square)": lambda: jnp.linalg.cholesky(square),
        "jnp.linalg.eigh(square)": lambda: jnp.linalg.eigh(square),
        "jnp.linalg.norm(x, axis=1)": lambda: jnp.linalg.norm(x, axis=1),
        "jnp.fft.fft(row)": lambda: jnp.fft.fft(row),
    }


def reductions(lib: ModuleType, jnp: ModuleType) -> Calls:
    """Reductions, scans, sorting."""
    x = jnp.arange(12.0).reshape(3, 4)
    return {
        "x.sum()": lambda: x.sum(),
        "jnp.sum(x, axis=0)": lambda: jnp.sum(x, axis=0),
        "jnp.mean(x, axis=-1, keepdims=True)": lambda: jnp.mean(x, axis=-1, keepdims=True),
        "jnp.max(x)": lambda: jnp.max(x),
        "jnp.std(x)": lambda: jnp.std(x),
        "jnp.var(x, axis=1)": lambda: jnp.var(x, axis=1),
        "jnp.argmax(x, axis=1)": lambda: jnp.argmax(x, axis=1),
        "jnp.all(x > 0)": lambda: jnp.all(x > 0),
        "jnp.median(x)": lambda: jnp.median(x),
        "jnp.cumsum(x, axis=1)": lambda: jnp.cumsum(x, axis=1),
        "jnp.sort(x)": lambda: jnp.sort(x),
        "jnp.argsort(x)": lambda: jnp.argsort(x),
        "jnp.unique(x)": lambda: jnp.unique(x),
    }


def order(lib: ModuleType, jnp: ModuleType) -> Calls:
    """More reductions; order, places, counts."""
    x, whole, row = jnp.arange(12.0).reshape(3, 4), jnp.arange(12).reshape(3, 4), jnp.arange(4.0)
    return {
        "x.mean()": lambda: x.mean(),
        "x.min(axis=0)": lambda: x.min(axis=0),
        "jnp.prod(x)": lambda: jnp.prod(x),
        "jnp.any(x > 0, axis=1)": lambda: jnp.any(x > 0, axis=1),
        "jnp.argmin(x)": lambda: jnp.argmin(x),
        "jnp.nansum(x)": lambda: jnp.nansum(x),
        "jnp.average(x, axis=0)": lambda: jnp.average(x, axis=0),
        "jnp.ptp(x)": lambda: jnp.ptp(x),
        "jnp.quantile(x, 0.3)": lambda: jnp.quantile(x, 0.3),
        "jnp.count_nonzero(x)": lambda: jnp.count_nonzero(x),
        "jnp.cumprod(x)": lambda: jnp.cumprod(x),
        "jnp.diff(row)": lambda: jnp.diff(row),
        "nn.logsumexp(x)": lambda: lib.nn.logsumexp(x),
        "lax.top_k(row, 2)": lambda: lib.lax.top_k(row, 2),
        "jnp.searchsorted(row, x)": lambda: jnp.searchsorted(row, x),
        "jnp.nonzero(x)": lambda: jnp.nonzero(x),
        "jnp.bincount(whole[0])": lambda: jnp.bincount(whole[0]),
        "jnp.isin(whole, whole[0])": lambda: jnp.isin(whole, whole[0]),
    }


def shapes(lib: ModuleType, jnp: ModuleType) -> Calls:
    """Rearranging."""
    x, y = jnp.arange(12.0).reshape(3, 4), jnp.ones((3, 4))
    return {
        "x.reshape(4, 3)": lambda: x.reshape(4, 3),
        "x.T": lambda: x.T,
        "x.ravel()": lambda: x.ravel(),
        "jnp.transpose(x, (1, 0))": lambda: jnp.transpose(x, (1, 0)),
        "jnp.expand_dims(x, 0)": lambda: jnp.expand_dims(x, 0),
        "jnp.broadcast_to(x, (2, 3, 4))": lambda: jnp.broadcast_to(x, (2, 3, 4)),
        "jnp.concatenate([x, y])": lambda: jnp.concatenate([x, y]),
        "jnp.stack([x, y])": lambda: jnp.stack([x, y]),
        "jnp.split(x, 2, axis=1)": lambda: jnp.split(x, 2, axis=1),
        "jnp.pad(x, 1)": lambda: jnp.pad(x, 1),
        "jnp.tile(x, (2, 2))": lambda: jnp.tile(x, (2, 2)),
        "jnp.flip(x)": lambda: jnp.flip(x),
        "jnp.roll(x, 1)": lambda: jnp.roll(x, 1),
    }


def joining(lib: ModuleType, jnp: ModuleType) -> Calls:
    """More rearranging: several arrays, triangles, diagonals."""
    x, y, row, square = jnp.arange(12.0).reshape(3, 4), jnp.ones((3, 4)), jnp.arange(4.0), jnp.eye(4)
    return {
        "x.swapaxes(0, 1)": lambda: x.swapaxes(0, 1),
        "x.squeeze()": lambda: x.squeeze(),
        "jnp.moveaxis(x, 0, 1)": lambda: jnp.moveaxis(x, 0, 1),
        "jnp.vstack([x, y])": lambda: jnp.vstack([x, y]),
        "jnp.hstack([x, y])": lambda: jnp.hstack([x, y]),
        "jnp.append(row, 1.0)": lambda: jnp.append(row, 1.0),
        "jnp.repeat(x, 2, axis=0)": lambda: jnp.repeat(x, 2, axis=0),
        "jnp.rot90(x)": lambda: jnp.rot90(x),
        "jnp.meshgrid(row, row)": lambda: jnp.meshgrid(row, row),
        "jnp.tril(square)": lambda: jnp.tril(square),
        "jnp.diag(row)": lambda: jnp.diag(row),
        "jnp.atleast_2d(row)": lambda: jnp.atleast_2d(row),
        "jnp.where(mask)": lambda: jnp.where(x > 3),
    }


def indexing(lib: ModuleType, jnp: ModuleType) -> Calls:
    """Reading parts of arrays."""
    x, picks, mask = jnp.arange(12.0).reshape(3, 4), jnp.array([2, 0]), np.array([True, False, True])
    one = jnp.array(1)
    return {
        "x[1]": lambda: x[1],
        "x[1, 2]": lambda: x[1, 2],
        "x[-1]": lambda: x[-1],
        "x[:, 1]": lambda: x[:, 1],
        "x[1:3]": lambda: x[1:3],
        "x[::2, ::-1]": lambda: x[::2, ::-1],
        "x[None, :, ..., None]": lambda: x[None, :, ..., None],
        "x[array]": lambda: x[picks],
        "x[array, array]": lambda: x[picks, picks],
        "x[host mask]": lambda: x[mask],
        "x[0-d array]": lambda: x[one],
        "jnp.take(x, array, axis=1)": lambda: jnp.take(x, picks, axis=1),
        "lax.dynamic_slice(x, (1, 1), (2, 2))": lambda: lib.lax.dynamic_slice(x, (1, 1), (2, 2)),
        "for row in x": lambda: list(x),
    }


def updates(lib: ModuleType, jnp: ModuleType) -> Calls:
    """Changed copies."""
    x, picks = jnp.arange(12.0).reshape(3, 4), jnp.array([2, 0])
    return {
        "x.at[1].set(0)": lambda: x.at[1].set(0),
        "x.at[1, 2].add(1)": lambda: x.at[1, 2].add(1),
        "x.at[:, 1].multiply(2)": lambda: x.at[:, 1].multiply(2),
        "x.at[array].add(1)": lambda: x.at[picks].add(1),
        "x.at[array].get(mode='fill')": lambda: x.at[picks].get(mode="fill", fill_value=0),
        "x.at[1:].max(5)": lambda: x.at[1:].max(5),
    }


def creation(lib: ModuleType, jnp: ModuleType) -> Calls:
    """New arrays."""
    x, host = jnp.arange(12.0).reshape(3, 4), np.ones((3, 4), np.float32)
    return {
        "jnp.zeros((3, 4))": lambda: jnp.zeros((3, 4)),
        "jnp.ones(7)": lambda: jnp.ones(7),
        "jnp.full((3, 4), 2.5)": lambda: jnp.full((3, 4), 2.5),
        "jnp.zeros_like(x)": lambda: jnp.zeros_like(x),
        "jnp.arange(10)": lambda: jnp.arange(10),
        "jnp.linspace(0, 1, 11)": lambda: jnp.linspace(0, 1, 11),
        "jnp.eye(4)": lambda: jnp.eye(4),
        "jnp.array(1.5)": lambda: jnp.array(1.5),
        "jnp.array([1, 2, 3])": lambda: jnp.array([1, 2, 3]),
        "jnp.asarray(host array)": lambda: jnp.asarray(host),
        "jnp.array(x) (copy)": lambda: jnp.array(x),
    }


def random_numbers(lib: ModuleType, jnp: ModuleType) -> Calls:
    """Keys and draws."""
    random, key, x = lib.random, lib.random.key(0), jnp.arange(12.0)
    return {
        "random.key(0)": lambda: random.key(0),
        "random.split(key)": lambda: random.split(key),
        "random.fold_in(key, 3)": lambda: random.fold_in(key, 3),
        "random.uniform(key, (3, 4))": lambda: random.uniform(key, (3, 4)),
        "random.normal(key, (3, 4))": lambda: random.normal(key, (3, 4)),
        "random.randint(key, (5,), 0, 9)": lambda: random.randint(key, (5,), 0, 9),
        "random.bernoulli(key, 0.3, (5,))": lambda: random.bernoulli(key, 0.3, (5,)),
        "random.permutation(key, x)": lambda: random.permutation(key, x),
        "random.categorical(key, x)": lambda: random.categorical(key, x),
    }


def conversions(lib: ModuleType, jnp: ModuleType) -> Calls:
    """To other types, to the host and back."""
    x, scalar = jnp.arange(12.0).reshape(3, 4), jnp.array(2.5)
    host = np.ones((3, 4), np.float32)
    return {
        "x.astype(int32)": lambda: x.astype(jnp.int32),
        "x.copy()": lambda: x.copy(),
        "np.asarray(x + 1)": lambda: np.asarray(x + 1),
        "float(scalar + 1)": lambda: float(scalar + 1),
        "bool(scalar > 1)": lambda: bool(scalar > 1),
        "x.tolist()": lambda: x.tolist(),
        "device_put(host array)": lambda: lib.device_put(host),
        "tree_map(+, pair)": lambda: lib.tree_util.tree_map(lambda leaf: leaf + 1, (x, scalar)),
    }

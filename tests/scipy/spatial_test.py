"""Rotations: every description there and back, against SciPy's."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Theirs
from scipy.spatial.transform import Slerp as TheirSlerp

import arrax
from arrax.scipy.spatial.transform import Rotation, Slerp
from tests.support import check_gradients

QUATS = np.concatenate(
    [Theirs.random(6, rng=0).as_quat(), np.eye(4), [[1e-9, 0, 0, 1], [1e-5, 2e-5, 0, 1], [0, 1, 0, 1e-6]]]
)


@pytest.fixture(autouse=True)
def wide_numbers():
    with arrax.enable_x64(True):
        yield


def same(ours, theirs, tolerance=1e-9):
    """Whether two arrays of rotations turn alike."""
    np.testing.assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=tolerance)


@pytest.mark.parametrize("rows", [slice(None), 0], ids=["several", "single"])
def test_descriptions_are_those_of_scipy(rows):
    ours, theirs = Rotation.from_quat(3 * QUATS[rows]), Theirs.from_quat(QUATS[rows])
    same(ours, theirs)
    np.testing.assert_allclose(ours.as_rotvec(), theirs.as_rotvec(), atol=1e-12)
    np.testing.assert_allclose(ours.as_rotvec(degrees=True), theirs.as_rotvec(degrees=True), atol=1e-10)
    np.testing.assert_allclose(ours.as_mrp(), theirs.as_mrp(), atol=1e-12)
    np.testing.assert_allclose(ours.magnitude(), theirs.magnitude(), atol=1e-12)
    np.testing.assert_allclose(ours.as_quat(canonical=True), theirs.as_quat(canonical=True), atol=1e-12)
    first = theirs.as_quat(canonical=True, scalar_first=True)
    np.testing.assert_allclose(ours.as_quat(canonical=True, scalar_first=True), first, atol=1e-12)
    assert ours.single == theirs.single


@pytest.mark.parametrize("rows", [slice(None), 0], ids=["several", "single"])
def test_rotations_are_made_from_their_descriptions(rows):
    theirs = Theirs.from_quat(QUATS[rows])
    same(Rotation.from_matrix(theirs.as_matrix()), theirs)
    same(Rotation.from_rotvec(theirs.as_rotvec()), theirs)
    same(Rotation.from_rotvec(theirs.as_rotvec(degrees=True), degrees=True), theirs)
    same(Rotation.from_mrp(theirs.as_mrp()), theirs)


SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] and s[1] != s[2]]


@pytest.mark.parametrize("seq", [*SEQUENCES, *(s.upper() for s in SEQUENCES)])
def test_euler_angles_are_those_of_scipy(seq):
    theirs = Theirs.from_quat(QUATS[:6])
    ours = Rotation.from_quat(QUATS[:6])
    np.testing.assert_allclose(ours.as_euler(seq), theirs.as_euler(seq), atol=1e-10)
    same(Rotation.from_euler(seq, theirs.as_euler(seq)), theirs)
    middle = 0.0 if seq[0] == seq[2] else np.pi / 2  # one angle is lost: any two that turn alike will do
    locked = Rotation.from_euler(seq, np.array([0.3, middle, 0.4]))
    same(Rotation.from_euler(seq, locked.as_euler(seq)), locked, 1e-6)


@pytest.mark.parametrize(
    "call", [Rotation.identity().as_euler, lambda seq: Rotation.from_euler(seq, np.zeros(len(seq)))]
)
@pytest.mark.parametrize("seq", ["xxy", "ZXX"])
def test_neighbouring_axes_are_different(call, seq):
    with pytest.raises(ValueError, match="neighbouring"):
        call(seq)


@pytest.mark.parametrize(
    ("seq", "angles"), [("x", 30.0), ("Z", [[10.0], [20.0]]), ("xy", [10.0, 20.0]), ("ZX", [[1.0, 2], [3, 4]])]
)
def test_fewer_axes_will_do(seq, angles):
    angles = np.array(angles)
    same(Rotation.from_euler(seq, angles, degrees=True), Theirs.from_euler(seq, angles, degrees=True))


def test_rotations_turn_vectors_and_follow_each_other():
    ours, theirs = Rotation.from_quat(QUATS), Theirs.from_quat(QUATS)
    vectors = np.random.default_rng(0).normal(size=(len(QUATS), 3))
    np.testing.assert_allclose(ours.apply(vectors), theirs.apply(vectors), atol=1e-12)
    np.testing.assert_allclose(ours.apply(vectors[0], inverse=True), theirs.apply(vectors[0], inverse=True), atol=1e-12)
    same(ours * ours[::-1], theirs * theirs[::-1])
    same(ours.inv(), theirs.inv())
    same(ours.mean(), theirs.mean())
    weights = np.arange(1.0, len(QUATS) + 1)
    same(ours.mean(weights), theirs.mean(weights))
    assert len(ours[:3]) == 3 and ours[0].single
    same(Rotation.concatenate([ours[0], ours[1:3]]), theirs[:3])
    same(Rotation.identity(2), Theirs.identity(2))
    drawn = Rotation.random(arrax.random.key(0), 500)
    assert drawn.quat.shape == (500, 4) and np.max(np.abs(np.mean(drawn.as_matrix(), 0))) < 0.1


def test_rotations_are_interpolated_like_scipys():
    times, asked = np.array([0.0, 1.0, 2.5, 4.0]), np.array([0.0, 0.3, 1.0, 2.0, 4.0])
    ours = Slerp.init(times, Rotation.from_quat(QUATS[:4]))
    theirs = TheirSlerp(times, Theirs.from_quat(QUATS[:4]))
    same(ours(asked), theirs(asked))
    same(ours(0.7), theirs(0.7))


def test_rotations_are_made_of_numbers_and_sequences_of_them():
    quat = Rotation.from_euler("z", 90, degrees=True).as_quat()
    assert not quat.weak_type and Rotation.from_quat([0, 0, 3, 0]).as_quat().tolist() == [0, 0, 1, 0]
    assert Rotation.from_rotvec([0, 0, 0]).apply([[1, 2, 3]]).tolist() == [[1, 2, 3]]
    assert Rotation.from_matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1]]).as_quat().tolist() == [0, 0, 0, 1]
    with pytest.raises(TypeError):
        Rotation.from_quat(["a", "b", "c", "d"])


def test_rotations_pass_through_transformations():
    turn = arrax.jit(lambda r, v: r.apply(v))(Rotation.from_quat(QUATS[0]), np.ones(3))
    np.testing.assert_allclose(turn, Theirs.from_quat(QUATS[0]).apply(np.ones(3)), atol=1e-12)
    check_gradients(lambda v: Rotation.from_rotvec(v).as_matrix(), [np.array([0.3, -0.2, 0.5])])
    check_gradients(lambda v: Rotation.from_rotvec(v).as_matrix(), [np.zeros(3)])
    check_gradients(lambda v: Rotation.from_rotvec(v).as_rotvec(), [np.zeros(3)])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Rotation.from_quat(np.ones(3)), ValueError),
        (lambda: Rotation.from_matrix(np.ones((2, 2))), ValueError),
        (lambda: Rotation.from_euler("xw", np.ones(2)), ValueError),
        (lambda: Rotation.from_euler("xY", np.ones(2)), ValueError),
        (lambda: Rotation.from_euler("xyz", np.ones(2)), ValueError),
        (lambda: Rotation.identity().as_euler("xx"), ValueError),
        (lambda: Rotation.identity()[0], TypeError),
        (lambda: Slerp.init(np.ones(1), Rotation.identity()), ValueError),
        (lambda: Slerp.init(np.ones(3), Rotation.identity(2)), ValueError),
        (lambda: Rotation.identity(2).mean(np.ones(3)), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()

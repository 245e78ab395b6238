"""Rotations. Public names only."""

from arrax.scipy.spatial.rotations import Rotation as Rotation
from arrax.scipy.spatial.slerp import Slerp as Slerp

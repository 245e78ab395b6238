"""Placement of arrays on devices (public face)."""

from arrax.xla.shardings import Sharding as Sharding
from arrax.xla.shardings import SingleDeviceSharding as SingleDeviceSharding

"""What each of two processes does in ``processes_test.py``: it prints what it found, as JSON on the last line."""

import functools
import json
import sys
import warnings

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import multihost_utils
from arrax.experimental.maps import xmap
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P


def message(fun, *args, **kwargs):
    try:
        fun(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main(address, number):
    found = {"too few arguments": message(arrax.distributed.initialize, cluster_detection_method="deactivate")}
    arrax.distributed.initialize(address, num_processes=2, process_id=number)
    found["again"] = message(arrax.distributed.initialize, address, 2, number)
    found["counts"] = [arrax.process_index(), arrax.process_count(), arrax.device_count(), arrax.local_device_count()]
    found["gathered"] = multihost_utils.process_allgather({"a": np.arange(3) + number})["a"].tolist()
    found["tiled"] = multihost_utils.process_allgather(np.arange(2) + number, tiled=True).tolist()
    found["from one"] = multihost_utils.broadcast_one_to_all(np.full(2, number), is_source=number == 1).tolist()
    multihost_utils.sync_global_devices("here")
    found["scalar"] = type(multihost_utils.broadcast_one_to_all(number)).__name__
    found["differ"] = message(multihost_utils.assert_equal, np.array(number), "numbers")
    mesh = arrax.make_mesh((4,), ("x",))
    rows = NamedSharding(mesh, P("x"))
    x = multihost_utils.host_local_array_to_global_array(np.arange(4.0) + 4 * number, mesh, P("x"))
    found["global"] = [list(x.shape), x.is_fully_addressable, repr(x), message(np.asarray, x)]
    found["none"] = message(multihost_utils.host_local_array_to_global_array, np.arange(4.0), mesh, None)
    total, doubled = arrax.jit(lambda x: (x.sum(), x * 2))(x)
    keys = arrax.jit(lambda key: arrax.random.split(key, 4), out_shardings=rows)(arrax.random.key(0))
    found["keys"] = repr(keys)
    found["sum"] = float(total)
    found["local"] = multihost_utils.global_array_to_host_local_array(doubled, mesh, P("x")).tolist()
    found["whole"] = multihost_utils.process_allgather(doubled, tiled=True).tolist()
    found["replicated"] = arrax.device_put(doubled, NamedSharding(mesh, P())).tolist()
    summed = arrax.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())(x)
    found["psum"] = summed.tolist()
    found["pmap"] = arrax.pmap(lambda x: (lax.psum(x, "i"), lax.axis_index("i")), axis_name="i")(np.ones(2))
    found["pmap"] = [part.tolist() for part in found["pmap"]]
    limited = arrax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", axis_size=4)
    with mesh, warnings.catch_warnings(action="ignore"):
        named = {"in_axes": ["a", ...], "axis_resources": {"a": "x"}}
        twice = xmap(lambda x: 2 * x, out_axes=["a", ...], **named)(np.arange(2.0) + 2 * number)
        total = xmap(lambda x: lax.psum(x, "a"), out_axes=[...], **named)(np.arange(2.0) + 2 * number)
        found["xmap"] = [twice.tolist(), total.tolist()]
    found["axis size"] = [limited(np.ones(2)).tolist(), message(limited, np.ones(3))]
    found["copy"] = [x.copy().sum().tolist(), repr(arrax.device_put(x, rows, may_alias=False))]
    far = arrax.device_put(np.arange(2.0, dtype=np.float32), arrax.devices()[3 - 2 * number])
    found["far"] = [
        repr(far),
        repr(far.at[0].set(3.0)[1]),
        repr(far.copy()),
        far.addressable_shards,
        far.global_shards[0].data,
    ]
    found["far refused"] = [message(read, far) for read in (np.asarray, arrax.device_get, lambda a: a.__dlpack__())]
    found["put"] = [s.data.tolist() for s in arrax.device_put(np.arange(8.0), rows).addressable_shards]
    found["made"] = list(arrax.make_array_from_process_local_data(rows, np.ones((2, 3))).shape)
    found["put refused"] = message(arrax.device_put, np.arange(8.0) + number, rows)
    few = arrax.device_put(np.array([0.0, 1, 2, 0, 1, 2, 3, 1], np.float32), rows)
    found["of values"] = [
        jnp.unique(few).tolist(),
        jnp.nonzero(few)[0].tolist(),
        jnp.bincount(few.astype(int)).tolist(),
    ]
    double = functools.partial(
        arrax.pure_callback, lambda v: 2 * np.asarray(v), arrax.ShapeDtypeStruct((8,), np.float32)
    )
    found["from the host"] = [call(few).tolist() for call in (double, arrax.jit(double))]
    loss = arrax.jit(lambda w, x: ((x * w) ** 2).mean())
    found["grad"] = float(arrax.grad(loss)(2.0, x))
    with arrax.debug_nans(True):
        found["no nans"] = arrax.jit(lambda x: x * 2)(x).shape == x.shape
        found["nans"] = message(arrax.jit(lambda x: x / (x - x)), arrax.jit(lambda x: x * 0)(x))
    found["preempted"] = multihost_utils.reached_preemption_sync_point(0)
    with multihost_utils.live_devices(arrax.devices()) as alive:
        found["alive"] = len(alive)
    arrax.distributed.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

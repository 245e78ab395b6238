"""The libraries whose tests are run with arrax in the place of JAX: where they come from, how their own CI runs them."""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """The tests of one library.

    Attributes:
      origin: repository. tag: the version whose tests are run. package: its name where it is installed from, if another.
      runs: arguments of pytest, one tuple per process, from the top of the checkout.
      each_file: whether each file of the tests runs in a process of its own.
      environment: variables.
      known: tests that pass with JAX and cannot with arrax, and why.
    """

    origin: str
    tag: str
    runs: tuple[tuple[str, ...], ...]
    package: str = ""
    each_file: bool = False
    environment: dict[str, str] = {}
    known: dict[str, str] = {}


_NO_ASYNC = ("-p", "no:asyncio")  # its warnings are errors in the libraries' settings
_SEED = {"EQX_GETKEY_SEED": "0"}  # keys are random without it
_BROADCASTS = "counts the operations of a program: arrax writes out that an axis of length 1 is repeated"

_CHECK_MESSAGE = "reads the message of a failed check, which arrax words as the documentation shows it"

LIBRARIES = {
    "chex": Library(
        "https://github.com/google-deepmind/chex", "v0.1.92",
        (("chex", "-k", "not fake_set_n_cpu_devices_test"), ("chex", "-k", "fake_set_n_cpu_devices_test")),
    ),
    "optax": Library("https://github.com/google-deepmind/optax", "v0.2.8", (("optax",),)),
    "equinox": Library(
        "https://github.com/patrick-kidger/equinox", "v0.13.8", (("tests", *_NO_ASYNC),),
        environment=_SEED,
        known={
            "tests.test_make_jaxpr::test_basic": _BROADCASTS,
            "tests.test_make_jaxpr::test_struct": _BROADCASTS,
        },
    ),
    "lineax": Library(
        "https://github.com/patrick-kidger/lineax", "v0.1.1", (("tests", *_NO_ASYNC),), each_file=True,
        environment=_SEED,
    ),
    "flax": Library(  # core and linen; what needs TensorFlow is left out
        "https://github.com/google/flax", "v0.12.7",
        (("tests", "--ignore=tests/nnx", "--ignore=tests/io_test.py", "--ignore=tests/tensorboard_test.py",
          "--continue-on-collection-errors", *_NO_ASYNC),),
        environment={
            "JAX_NUMPY_RANK_PROMOTION": "raise", "FLAX_PROFILE": "1",
            "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        },
    ),
    "flax.nnx": Library(
        "https://github.com/google/flax", "v0.12.7", (("tests/nnx", "--continue-on-collection-errors", *_NO_ASYNC),),
        package="flax", environment={"XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        known={f"tests.nnx.transforms_test.TestCheckify::test_basic{number}": _CHECK_MESSAGE for number in range(3)},
    ),
    "jaxtyping": Library("https://github.com/patrick-kidger/jaxtyping", "v0.3.11", (("test",),), environment=_SEED),
    "treescope": Library(
        "https://github.com/google-deepmind/treescope", "v0.1.10", (("tests", "--continue-on-collection-errors"),),
        known={
            "tests.representation_test.RepresentationPartsTest::test_build_qualified_type_name":
                "asks for the name of a class's module: classes of arrax say that they are arrax's",
        },
    ),
    "optimistix": Library(
        "https://github.com/patrick-kidger/optimistix", "v0.1.0", (("tests", *_NO_ASYNC),), each_file=True, environment=_SEED,
        known={
            "tests.test_compat::test_compare":
                "expects the inverse Hessian that an iteration estimates on its way: arrax's line search takes other steps",
        },
    ),
    "haiku": Library(  # what needs TensorFlow and bsuite is left out
        "https://github.com/google-deepmind/dm-haiku", "v0.0.16",
        (("haiku", "-k", "not float64", "--continue-on-collection-errors"),), package="dm-haiku",
        known={
            f"haiku._src.jaxpr_info_test.JaxprInfoTest::{test}":
                "counts the operations of a program: the sign of a negative zero takes three more in arrax"
            for test in ("test_compute_flops", "test_simple_expression")
        },
    ),
    "rlax": Library(
        "https://github.com/google-deepmind/rlax", "v0.1.8",
        (("rlax", "-k", "not pop_art_test"), ("rlax", "-k", "pop_art_test")),
    ),
    "jaxlie": Library("https://github.com/brentyi/jaxlie", "v1.5.0", (("tests",),)),
    "jaxopt": Library(
        "https://github.com/google/jaxopt", "jaxopt-v0.8.5", (("tests",),),
        known={
            "tests.proximal_gradient_test.ProximalGradientTest::test_lasso_manual_loop0":
                "a line search at the last digits of the minimum, which takes other steps",
        },
    ),
    "diffrax": Library(
        "https://github.com/patrick-kidger/diffrax", "v0.7.2", (("test", *_NO_ASYNC),), each_file=True, environment=_SEED,
    ),
}  # fmt: skip

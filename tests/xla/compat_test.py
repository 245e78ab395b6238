"""What differs between versions of jaxlib: the options that every program for the CPU is compiled with."""

import pytest

from arrax.xla import compat


@pytest.mark.parametrize(
    "switch", ["xla_cpu_disable_tiled_emitter", "-enable-nontrivial-unswitch", "-unroll-full-max-count"]
)
def test_compile_options_have_the_switches_that_only_their_serialized_form_can_be_given(switch):
    options = compat.cpu_compile_options()
    assert switch.encode() in options.SerializeAsString()
    options.num_replicas = 2  # and each caller has options of its own
    assert compat.cpu_compile_options().num_replicas == 1

"""Random compositions of transformations, control flow, custom rules, indexing and linear algebra agree with themselves."""

import random

import pytest

from tests.compositions.checking import fault
from tests.compositions.programs import drawn, parts, random_program

PARTS, SEEDS = 6, 10


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_every_way_of_running_a_random_program_tells_the_same(part):
    faults = []
    for seed in range(part, PARTS * SEEDS, PARTS):
        program, dtype = drawn(seed)
        said = fault(program, dtype)
        if said:
            faults.append(f"python -m tests.compositions.fuzz --seed {seed}: {dtype} {said}\n  {program!r}")
    assert not faults, "\n".join(faults)


# fmt: off
FOUND = [  # programs that had a fault once, as the fuzzer shrinks them
    ("float64", (("scan", 0, 0, 0, (("watched", 0, 0, 0),)),)),
    ("bfloat16", (("custom_vjp", 0, 0, 0, (("relu", 0, 0, 0),)),)),
    ("float64", (("vmap", 0, 0, 0, (("cond", 0, 0, 0, (("log1p", 0, 0, 0),)),)),)),
    ("float32", (("linearize", 0, 0, 0, (("checkpoint", 0, 0, 0, (("sin", 0, 0, 0),)),)), ("custom_jvp", 0, 0, 0, (
        ("cond", 0, 0, 0, (("matvec", 0, 0, 0),)),)))),
    ("float32", (("checkpoint", 1, 0, 0, (("scan", 0, 0, 0, (("matvec", 0, 0, 0), ("watched", 0, 0, 0))),)),)),
]
# fmt: on


@pytest.mark.parametrize(("dtype", "program"), FOUND)
@pytest.mark.filterwarnings("ignore")
def test_programs_that_had_a_fault_have_none(dtype, program):
    assert fault(program, dtype) is None


def test_parts_of_programs_are_programs():
    program = random_program(random.Random(0), 5)
    for part in parts(program):
        assert isinstance(part, tuple) and all(isinstance(operation[0], str) for operation in part)

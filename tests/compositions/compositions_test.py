"""Random compositions of transformations, control flow, custom rules, indexing and linear algebra agree with themselves."""

import random

import pytest

from tests.compositions.checking import fault
from tests.compositions.programs import BASIC, CLOSED, HOLDERS, drawn, parts, random_program
from tests.support import FLOATING

PARTS = 3
SEEDS = [  # of short programs that together have every operation, and in every type each that holds a program
    4043, 5204, 7908, 9443, 10010, 10711, 11408, 13921, 15274, 16631, 16938, 19446, 20888, 21187, 21288, 22406, 22899, 24405, 25350,
    26074, 29890,
]  # fmt: skip


def operations(program):
    """The names of a program's operations, and of those that it holds."""
    for name, *_, last in program:
        yield name
        if isinstance(last, tuple):
            yield from operations(last)


def test_the_programs_have_every_operation_and_every_holder_in_every_type():
    named = {(dtype, name) for program, dtype in map(drawn, SEEDS) for name in operations(program)}
    assert {name for _, name in named} == {*HOLDERS, *CLOSED, *(name for _, table in BASIC for name in table)}
    assert {(dtype.name, name) for dtype in FLOATING for name in (*HOLDERS, *CLOSED)} <= named


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_every_way_of_running_a_random_program_tells_the_same(part):
    faults = []
    for seed in SEEDS[part::PARTS]:
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

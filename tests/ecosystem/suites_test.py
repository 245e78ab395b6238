"""The runner of the libraries' tests compares test by test, and its table says why a test cannot pass."""

import re
from pathlib import Path

import pytest

from tests.ecosystem import suites
from tests.ecosystem.libraries import LIBRARIES, Library

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one" />
<testcase classname="tests.test_a" name="test_two[x]"><failure>no</failure></testcase>
<testcase classname="tests.test_b.B" name="test_three"><error>no</error></testcase>
<testcase classname="tests.test_b.B" name="test_four"><skipped /></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_read_from_all_reports(tmp_path):
    (tmp_path / "0.xml").write_text(REPORT)
    (tmp_path / "1.xml").write_text(REPORT.replace("test_a", "test_c"))
    found = suites.read(tmp_path)
    assert len(found) == 6 and found["tests.test_c::test_one"] == "passed"
    assert found["tests.test_a::test_two[x]"] == found["tests.test_b.B::test_three"] == "failed"
    assert found["tests.test_b.B::test_four"] == "skipped"


@pytest.mark.parametrize(
    ("ours", "known", "expected"),
    [
        ({"a": "passed", "b": "passed"}, {}, []),
        ({"a": "failed", "b": "passed"}, {}, ["passes with JAX, failed with arrax: a"]),
        ({"b": "failed"}, {}, ["passes with JAX, missing with arrax: a"]),
        ({"a": "failed"}, {"a": "reason"}, []),
        ({"a": "passed"}, {"a": "reason"}, ["passes: take it off the list: a"]),
    ],
)
def test_what_passes_with_jax_alone_is_a_defect_unless_it_is_known(ours, known, expected):
    assert suites.judge(ours, {"a": "passed", "b": "failed"}, known) == expected


def test_a_run_without_tests_is_a_failure():
    assert suites.judge({}, {}, {}) and suites.judge({"a": "passed"}, {"a": "failed"}, {})


def test_counts_are_of_both_sides():
    ours = {"a": "passed", "b": "passed", "c": "failed"}
    reference = {"a": "passed", "b": "failed", "c": "passed", "d": "skipped"}
    assert (
        suites.row("chex", ours, reference, 3.2, 5.9)
        == f"| chex {LIBRARIES['chex'].tag} | 2 | 1 | 3 s | 2 | 1 | 6 s | 1 |"
    )


def test_files_run_apart_where_the_library_runs_them_so(tmp_path):
    library = Library("origin", "v1", (("tests", "-q"),), each_file=True)
    (tmp_path / "tests" / "inner").mkdir(parents=True)
    for name in ("test_b.py", "test_a.py", "helpers.py", "inner/test_c.py"):
        (tmp_path / "tests" / name).touch()
    assert suites.processes(library, tmp_path) == [
        ("tests/inner/test_c.py", "-q"), ("tests/test_a.py", "-q"), ("tests/test_b.py", "-q"),
    ]  # fmt: skip
    assert suites.processes(library._replace(each_file=False), tmp_path) == [("tests", "-q")]


def test_versions_are_those_that_are_installed_and_unknown_names_are_refused(capsys):
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", (Path(suites.__file__).with_name("libraries.txt")).read_text(), re.M))
    for name, library in LIBRARIES.items():
        assert library.tag.rpartition("v")[2] == pinned[library.package or name]
    with pytest.raises(SystemExit):
        suites.main(["no_such_library", "--reference", "python"])
    assert "no library of this name: no_such_library" in capsys.readouterr().err

"""The runner of the conformance suite tells regressions from known failures."""

from tests.conformance.suite import judge, outcomes, read_known_failures

REPORT = """<testsuites><testsuite>
<testcase classname="array_api_tests.test_fft" name="test_fft" />
<testcase classname="array_api_tests.test_linalg" name="test_inv"><failure>no</failure></testcase>
<testcase classname="array_api_tests.test_manipulation_functions.TestExpandDims" name="test_it"><error>no</error></testcase>
<testcase classname="array_api_tests.test_set_functions" name="test_isin[a]"><skipped /></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_read_from_the_report(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    assert outcomes(tmp_path / "report.xml") == {
        "passed": ["test_fft::test_fft"],
        "failed": ["test_linalg::test_inv", "test_manipulation_functions::TestExpandDims::test_it"],
        "skipped": ["test_set_functions::test_isin[a]"],
    }


def test_known_failures_are_no_regressions():
    found = {"passed": ["a"], "failed": ["b"], "skipped": []}
    assert judge(found, {"b"}, complete=True) == []
    assert judge(found, set(), complete=True) == ["regression: b"]


def test_a_known_failure_that_passes_is_told_after_a_complete_run():
    found = {"passed": ["a"], "failed": [], "skipped": []}
    assert judge(found, {"b"}, complete=True) == ["no longer fails, take it off the list: b"]
    assert judge(found, {"b"}, complete=False) == []


def test_a_run_without_tests_is_a_failure():
    assert judge({"passed": [], "failed": [], "skipped": []}, set(), complete=False)


def test_only_tests_that_write_into_arrays_are_known_to_fail():
    assert all("setitem" in name or name.endswith("::test_asarray_arrays") for name in read_known_failures())

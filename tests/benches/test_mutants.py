"""The ways of breaking the engine still find what they break, wherever it has moved."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from time import monotonic, sleep

import pytest

from httpdyno.servers.live_process import process_info

REPOSITORY = Path(__file__).parents[2]


def loaded():
    loader = SourceFileLoader("mutants", str(REPOSITORY / "benches" / "mutants"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Where dataclasses look for the module of a class.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


MUTANTS = loaded()


@pytest.mark.parametrize("mutant", MUTANTS.MUTANTS, ids=lambda each: each.name)
def test_each_mutant_fits_one_function_and_changes_it(mutant):
    ((file, text),) = MUTANTS.fitting(REPOSITORY, mutant)
    assert text != file.read_text()


def test_a_function_is_found_by_name_and_by_what_stands_beside(tmp_path):
    file = tmp_path / "crates" / "load" / "src" / "moved" / "here.rs"
    file.parent.mkdir(parents=True)
    file.write_text(
        "impl One {\n    pub(super) fn end(&self) {\n        a +=\n            1;\n    }\n}\n\n"
        "impl Other {\n    fn end(&self) {\n        a += 1;\n        beside();\n    }\n\n"
        "    fn ending(&self) {\n        a += 1;\n        beside();\n    }\n}\n"
    )
    mutant = MUTANTS.Mutant("any", "a lie", "end", r"a \+= 1;", "a += 2;")
    assert len(MUTANTS.fitting(tmp_path, mutant)) == 2
    beside = MUTANTS.Mutant("any", "a lie", "end", r"a \+= 1;", "a += 2;", beside=r"beside\(\)")
    ((_, text),) = MUTANTS.fitting(tmp_path, beside)
    assert text.count("a += 2;\n        beside();") == 1


RUST_FAILED = """
failures:

failures:
    judge::late
    judge::worse

test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p httpdyno-load --lib`
"""
CRASHED = (
    RUST_FAILED
    + """
Caused by:
  process didn't exit successfully: `/target/mutants/debug/deps/a-1` (signal: 6, SIGABRT: abort)
"""
)
ONLY_CRASHED = "error: test failed" + CRASHED.partition("error: test failed")[2]
PYTHON_FAILED = """
----- Captured log call -----
ERROR    httpdyno:file.py:3 it was logged
FAILED tests/load/test_a.py::test_one[two words] - AssertionError: not - right
ERROR tests/cli/test_b.py::test_two
"""
HUNG = (None, "running 3 tests")


@pytest.mark.parametrize(
    ("runs", "found", "n_all"),
    [
        ([(0, "")], "", 1),
        ([(101, RUST_FAILED), (101, RUST_FAILED)], "judge::late", 1),
        ([(101, RUST_FAILED), (0, ""), (101, RUST_FAILED)], "judge::worse", 1),
        ([(101, RUST_FAILED), (0, ""), (0, "")], "", 1),
        ([(101, RUST_FAILED), HUNG], "judge::late", 1),
        ([(101, ONLY_CRASHED), (0, "")], "", 2),
        ([(101, ONLY_CRASHED), (101, RUST_FAILED)], "", 2),
        ([(101, ONLY_CRASHED), (101, ONLY_CRASHED)], "a crash (signal: 6", 2),
        ([(101, CRASHED), (0, ""), (0, ""), (101, CRASHED)], "a crash (signal: 6", 2),
        ([HUNG, (0, "")], "", 2),
        ([HUNG, HUNG], "no end within", 2),
    ],
)
def test_a_named_test_is_tried_by_itself_and_a_crash_or_a_hang_as_it_was(
    monkeypatch, runs, found, n_all
):
    left, asked = iter(runs), []

    def run(command, **_):
        asked.append(command)
        return next(left)

    monkeypatch.setattr(MUTANTS, "run", run)
    said = MUTANTS.failing(["all"], ["alone"], MUTANTS._FAILED_RUST)
    assert said.startswith(found)
    assert bool(said) == bool(found)
    assert next(left, None) is None
    assert asked.count(["all"]) == n_all
    assert all(
        each in (["all"], ["alone", "judge::late"], ["alone", "judge::worse"]) for each in asked
    )


def test_the_names_of_python_tests_may_have_spaces(monkeypatch):
    monkeypatch.setattr(MUTANTS, "run", lambda *_, **__: (1, PYTHON_FAILED))
    assert MUTANTS.ended(["pytest"], MUTANTS._FAILED_PYTHON) == MUTANTS.Ended(
        ("tests/load/test_a.py::test_one[two words]", "tests/cli/test_b.py::test_two")
    )


def test_a_test_that_others_disturbed_is_no_failure(monkeypatch):
    said = RUST_FAILED + "thread 'judge::late' (7) panicked at a.rs:1:2:\ndisturbed in each of 3\n"
    monkeypatch.setattr(MUTANTS, "run", lambda *_, **__: (101, said))
    assert MUTANTS.ended(["cargo"], MUTANTS._FAILED_RUST) == MUTANTS.Ended(("judge::worse",))


def test_what_takes_too_long_is_killed_with_what_it_started(monkeypatch, tmp_path):
    monkeypatch.setattr(MUTANTS, "TREE", tmp_path)
    words = (
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    status, output = MUTANTS.run([sys.executable, "-c", words], timeout=2.0)
    assert status is None
    # It was killed; the kernel may take a moment.
    deadline_s = monotonic() + 10.0
    while process_info(int(output)) is not None and monotonic() < deadline_s:
        sleep(0.01)
    assert process_info(int(output)) is None


def test_a_stale_file_is_removed_from_the_copy(monkeypatch, tmp_path):
    monkeypatch.setattr(MUTANTS, "TREE", tmp_path)
    stale = tmp_path / "tests" / "gone" / "test_of_old.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    MUTANTS.refresh()
    assert not stale.parent.exists()
    assert (tmp_path / "tests" / "conftest.py").is_file()


def test_a_mutant_that_there_is_not_is_a_mistake(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mutants", "--only", "sent,misspelt"])
    with pytest.raises(SystemExit):
        MUTANTS.main()
    assert "no mutant is called misspelt" in capsys.readouterr().err

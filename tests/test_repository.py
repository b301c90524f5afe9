"""Rules that hold for the whole repository and that no linter knows."""

import ast
import dataclasses
import importlib
import pkgutil
import re
import subprocess
import tomllib
from functools import cache
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from tests.rows import each_row

import httpdyno
from httpdyno.model import Record

REPOSITORY = Path(__file__).parent.parent
MAX_LINES = 800
BANNED_MODULES = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}
ROOMS = [REPOSITORY / folder for folder in (".", "python/httpdyno", "crates/load/src")]
MADE = {"bin/httpdyno", "report/messages/ROOM.toml"}
THEIR_FILES = {"sitecustomize.py", "gunicorn.conf.py", "settings.py"}
"""Files that people have, and that our texts name."""
WITH_CAUSES = {
    *("AdapterError", "HttpdynoError", "NotRunError", "RevertError", "StudyFileError"),
    "TargetError",
}
"""Errors that may have causes besides their message."""
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
# Written in parts, or this file would be the first to be found.
MACHINE_PATHS = [f"/{name}/" for name in ("root", "home", "work")] + ["/opt/" + "wheels"]
REGISTRY_HOSTS = ["pypi" + ".org", "python" + "hosted.org", "crates" + ".io", "deb.debian" + ".org"]
# The resolver's own words.
WRITTEN_BY_TOOLS = {"Cargo.lock"}


@cache
def tracked_files():
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = [Path(name) for name in listed.split("\0") if name]
    return [path for path in paths if (REPOSITORY / path).is_file()]


@cache
def texts():
    found = {}
    for path in tracked_files():
        content = (REPOSITORY / path).read_bytes()
        if b"\0" not in content:
            found[path] = content.decode("utf-8")
    return found


def project():
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def modules():
    found = pkgutil.walk_packages(httpdyno.__path__, "httpdyno.")
    # Migrations are run by Alembic, and the main module by `python -m`.
    return [
        module.name
        for module in found
        if ".migrations." not in module.name and not module.name.endswith(".__main__")
    ]


def test_no_source_file_is_too_long():
    sources = {path: text for path, text in texts().items() if path.suffix in {".py", ".rs"}}
    assert sources
    long = {str(path): text.count("\n") for path, text in sources.items()}
    assert {path: lines for path, lines in long.items() if lines > MAX_LINES} == {}


def test_no_module_has_a_name_that_says_nothing():
    named = [path for path in tracked_files() if path.suffix in {".py", ".rs"}]
    assert [str(path) for path in named if BANNED_MODULES & {path.stem, *path.parent.parts}] == []


@pytest.mark.parametrize("banned", [*MACHINE_PATHS, *REGISTRY_HOSTS])
def test_no_file_names_a_machine_or_a_registry(banned):
    # `crates/home/` goes on with a path; it does not begin one.
    pattern = re.compile((r"(?<![\w.~$/-])" if banned[0] == "/" else "") + re.escape(banned))
    found = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        for path, text in texts().items()
        if str(path) not in WRITTEN_BY_TOOLS
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_both_licences_are_there_in_full():
    assert project()["license"] == "MIT OR Apache-2.0"
    apache = (REPOSITORY / "LICENSE-APACHE").read_text()
    assert "Version 2.0, January 2004" in apache
    assert "END OF TERMS AND CONDITIONS" in apache
    mit = (REPOSITORY / "LICENSE-MIT").read_text()
    assert "Permission is hereby granted, free of charge" in mit
    assert "WITHOUT WARRANTY OF ANY KIND" in mit


def test_the_changelog_has_the_sections_that_people_look_for():
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert versions[0] == "Unreleased"
    for version in versions[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", version)
    assert set(re.findall(r"^### (.+)$", text, flags=re.MULTILINE)) <= SECTIONS


@each_row("name", ["README.md", "DESIGN.md", "CONTRIBUTING.md"])
def test_the_documents_that_a_stranger_reads_first_are_there(name):
    text = (REPOSITORY / name).read_text()
    assert text.startswith("# ")
    # A path in backticks is a promise: of a file, or of a room of Python's or the engine's.
    for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)*/[\w-]+\.\w+)`", text):
        within = [folder for folder in ROOMS if (folder / path).exists()]
        assert within or path in MADE, path


def test_every_source_file_that_is_named_is_there():
    """Comments and documents name files; those that were merged or moved are found here."""
    names = {path.name for path in tracked_files()} | THEIR_FILES
    gone = [
        f"{path}: {named}"
        for path, text in texts().items()
        if path.suffix in {".md", ".py", ".rs", ".toml"} and path.parts[0] != "tests"
        for named in re.findall(r"`[\w./-]*?([\w.-]+\.(?:py|rs))`", text)
        if named not in names
    ]
    assert gone == []


def test_the_readme_begins_with_the_two_commands():
    text = (REPOSITORY / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def test_python_and_rust_have_one_version():
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]
    assert workspace["package"]["version"] == httpdyno.__version__


def test_every_declared_entry_point_exists():
    groups = {"scripts": project()["scripts"], **project()["entry-points"]}
    for group, entries in groups.items():
        for name, target in entries.items():
            module, _, attribute = target.partition(":")
            assert hasattr(importlib.import_module(module), attribute), f"{group}: {name}"


def test_every_module_can_be_imported_and_has_what_it_exports(subtests):
    for name in modules():
        with subtests.test(name):
            module = importlib.import_module(name)
            assert module.__name__ == name
            for exported in getattr(module, "__all__", ()):
                assert hasattr(module, exported), exported


STARTS = re.compile(
    r"\b(?:subprocess\.(?!DEVNULL|PIPE|STDOUT|TimeoutExpired|\w*Error|Popen\[)\w+\(|"
    r"os\.(?:exec\w*|spawn\w*|posix_spawn\w*|popen|system)\(|pty\.|multiprocessing\.P|"
    r"create_subprocess\w*|from subprocess import)"
)
MAY_START = {
    "host/runnable.py": "the door itself",
    "host/only_read.py": "names what it refuses",
    "servers/process.py": "a keeper: this Python",
    "servers/becoming.py": "what a keeper or a seat starts, as whom it was told to",
    "servers/sandbox/user_namespace.py": "this very command",
    "servers/sandbox/available.py": "this Python",
    "servers/sandbox/evaluator.py": "this Python, as nobody",
    "experiment/answer/reading.py": "this Python",
    "telemetry/syscalls/strace.py": "strace, by `own_program`",
    "book/figures.py": "this Python, and what `own_program` found",
}


def test_no_error_loses_its_causes_in_the_words_of_another():
    """`str` of an error is its message alone: causes are handed on by `within` or `reason`."""
    lost = []
    for path, text in texts().items():
        if not path.is_relative_to("python/httpdyno") or path.suffix != ".py":
            continue
        for handler in ast.walk(ast.parse(text)):
            if isinstance(handler, ast.ExceptHandler) and handler.type is not None:
                caught = {getattr(each, "id", "") for each in ast.walk(handler.type)}
                if caught & WITH_CAUSES:
                    lost += [f"{path}:{each.lineno}" for each in worded(handler)]
    assert lost == []


def worded(handler):
    """Yield where a caught error is put into a text."""
    for each in ast.walk(handler):
        if isinstance(each, ast.FormattedValue):
            said = each.value
        elif isinstance(each, ast.Call) and getattr(each.func, "id", "") == "str" and each.args:
            said = each.args[0]
        else:
            continue
        if getattr(said, "id", None) == handler.name:
            yield each


def test_no_program_is_started_but_through_the_door():
    package = Path("python/httpdyno")
    starting = {
        str(path.relative_to(package))
        for path, text in texts().items()
        if path.suffix == ".py"
        and path.is_relative_to(package)
        and STARTS.search(text)
        # They are no part of the program's code: each is what a study says.
        and not path.is_relative_to(package / "studies")
    }
    assert starting - MAY_START.keys() == set(), "run it by `runnable.said_by`, or say why not"
    assert MAY_START.keys() - starting == set(), "it starts nothing any more"


def test_each_probe_in_a_seat_says_whom_it_runs_as():
    asked = re.compile(r"seat\.run\((?P<said>(?:[^()]|\([^()]*\))*)\)")
    found = [
        (str(path), "user=" in match["said"])
        for path, text in texts().items()
        if path.parts[:2] == ("python", "httpdyno")
        for match in asked.finditer(text)
    ]
    assert found
    assert [path for path, says in found if not says] == []


ALIKE_RATIO = 0.6
"""Of the fields of the one that has more."""
FEWEST_FIELDS = 3
"""Fields: of two any pair of records has one in common."""
MAY_BE_ALIKE = {
    ("CallFigures", "CallTotals"): "one is of a call, the other adds up",
    ("Directive", "Section"): "a line, and what is around lines",
    ("Edit", "Word"): "what is to be written, and what stands there",
    ("Finding", "Finding"): "one has codes, the other the words that people read",
    ("Head", "Setting"): "where a section begins, and what stands in it",
    ("LimitGroups", "ServerLimits"): "what sets limits, and the limits",
    ("LogPlace", "_Rule"): "both stand somewhere, and are of other things",
    ("Origin", "Section"): "both are a stretch of a text, one without a file",
    ("Origin", "Token"): "both are a stretch of a text, one without a file",
    ("Section", "Token"): "both are a stretch of a text, of other grammars",
}


def records():
    """Yield the classes that say what their instances hold, and the names of that."""
    for module in map(importlib.import_module, modules()):
        for each in vars(module).values():
            if not isinstance(each, type) or each.__module__ != module.__name__:
                continue
            if issubclass(each, msgspec.Struct):
                yield each, {*each.__struct_fields__}
            elif dataclasses.is_dataclass(each):
                yield each, {field.name for field in dataclasses.fields(each)}


def test_records_that_are_much_alike_have_a_reason():
    plain = {object, msgspec.Struct, Record}
    alike = {
        tuple(sorted((a.__name__, b.__name__)))
        for (a, of_a), (b, of_b) in combinations(records(), 2)
        if min(len(of_a), len(of_b)) >= FEWEST_FIELDS
        and len(of_a & of_b) >= ALIKE_RATIO * max(len(of_a), len(of_b))
        and {*a.__mro__} & {*b.__mro__} <= plain
    }
    assert alike == {*MAY_BE_ALIKE}

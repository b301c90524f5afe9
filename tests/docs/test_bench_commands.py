"""Every bench that a page names is there, and takes the words that stand behind it."""

import argparse
import re
import runpy
import shlex
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from benches.__main__ import BENCHES, FOLDER, Smallest, command_of, has_run
from tests.commands import Done
from tests.rows import each_row

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "benches/*/README.md", "python/httpdyno/studies/*/*.md")
    for page in REPOSITORY.glob(pattern)
    # What it tells of was so when it was written.
    if page.name != "CHANGELOG.md"
)
CALL = re.compile(r"(?:^|[ /])python -m benches(?P<module>[\w.]*)(?P<of_module>.*)$")
FILE = re.compile(r"^(?:\S*python )?benches/(?P<name>[\w-]+)(?P<of_file> .*)?$")
MAKE = re.compile(r"\bmake (bench[\w-]*)(?: BENCH_ARGS='([^']*)')?")
TARGETS = dict(
    re.findall(
        r"^(bench[\w-]*):.*\n(?:\t.*\n)*?\t\$\(BIN\)/python -m benches(.*) \$\(BENCH_ARGS\)",
        (REPOSITORY / "Makefile").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
)


class ParsedError(Exception):
    """The words were right; nothing is measured here."""


def code_of(text):
    """Return what stands in a page as code: lines of blocks, and spans, each on one line."""
    block = re.compile(r"^```[^\n]*\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
    lines = [line for found in block.findall(text) for line in found.splitlines()]
    spans = re.findall(r"`([^`]+)`", block.sub("", text))
    return [*lines, *(" ".join(span.split()) for span in spans)]


def commands_of(text):
    """Return the benches that a page calls, each as what Python is given."""
    found = []
    for line in (each.partition(" #")[0].rstrip() for each in code_of(text)):
        if called := CALL.search(line):
            found.append(["-m", f"benches{called['module']}", *shlex.split(called["of_module"])])
        elif (called := FILE.match(line)) and not (FOLDER / called["name"]).is_dir():
            words = shlex.split(called["of_file"] or "")
            found.append([str(FOLDER / called["name"]), *words])
        for target, words in MAKE.findall(line):
            assert target in TARGETS, f"`make {target}` makes nothing"
            found.append(["-m", *shlex.split(f"benches{TARGETS[target]} {words}")])
    return found


CALLS = sorted(
    {
        (page.relative_to(REPOSITORY).as_posix(), *command)
        for page in PAGES
        for command in commands_of(page.read_text(encoding="utf-8"))
    }
)


def begin(first, name=""):
    """Begin a bench in this process, as Python would."""
    if first != "-m":
        runpy.run_path(first, run_name="__main__")
        return
    spec = find_spec(name)
    assert spec is not None
    is_package = spec.submodule_search_locations is not None
    import_module(f"{name}.__main__" if is_package else name).main()


@pytest.fixture
def takes(monkeypatch):
    """Return what has a bench read its words, and do nothing by them."""
    parse = argparse.ArgumentParser.parse_args

    def read(parser, args=None, namespace=None):
        parse(parser, args, namespace)
        raise ParsedError

    def taken(command):
        monkeypatch.setattr(argparse.ArgumentParser, "parse_args", read)
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        # Of a checkout that stands beside this one a bench asks for its engine at once.
        words = [REPOSITORY.as_posix() if word == "/tmp/before" else word for word in command]
        monkeypatch.setattr(sys, "argv", words[command[0] == "-m" :])
        with pytest.raises(ParsedError):
            begin(*command[:2])

    return taken


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_takes_the_words_of_its_smallest_form(takes, name):
    takes(command_of(name, shlex.split(BENCHES[name].words.format(new="new"))))


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_bench_takes_the_words_of_a_page(takes, call):
    takes([*call[1:]])


def test_pages_name_benches():
    called = {word for _, *command in CALLS for word in command if "benches." in word}
    assert {"benches.power", "benches.fidelity", "benches.faults"} <= called
    assert all(find_spec(module) for module in called)


def test_every_bench_has_a_smallest_form():
    there = {path.name for path in FOLDER.iterdir() if path.name[0] not in "._"}
    assert set(BENCHES) == there


@each_row(
    ("status", "output", "is_right"),
    [
        (0, "", True),
        (1, "   missed so far: few\n", True),
        (1, "Traceback (most recent call last):\n", False),
        (2, "   missed so far: few\n", False),
        (124, "   missed so far: few\n", False),
    ],
)
def test_what_a_bench_found_is_no_failure_of_it(status, output, is_right):
    smallest = Smallest(words="", limit_s=1.0, found=r"^ +missed so far")
    assert has_run(smallest, Done(status, output)) is is_right


@each_row(
    ("text", "found"),
    [
        ("`python -m benches.cell\n--rounds 20`", ["-m", "benches.cell", "--rounds", "20"]),
        ("```\n.venv/bin/python -m benches.cell  # all\n```", ["-m", "benches.cell"]),
        ("`make bench-eyes BENCH_ARGS='--quick'`", ["-m", "benches.eyes", "--quick"]),
        ("`benches/windows --budget 9s`", [str(FOLDER / "windows"), "--budget", "9s"]),
        ("`benches/power`", None),
    ],
)
def test_commands_are_found_in_pages(text, found):
    assert commands_of(text) == ([found] if found else [])

"""`httpdyno formula`: the arithmetic of the founding documents, worked out."""

import json
import shlex

import pytest

from httpdyno.advice.formula import formulas
from httpdyno.cli.app import run
from httpdyno.report.shared.formula_reference import formula_reference

MAX_CLIENTS = "formula max-clients --ram 500MB --child 10MB --shared 4MB"
RESPAWN = "formula respawn --seen 5=2.83,10=5.47,20=8.92,5000=28.01"
SLOW_CLIENT = "formula slow-client --page 100kB --link 28.8kbit --service 500ms"

LIFE = (
    "formula life --ram 500MB --parent 25MB --level 20.3MB --start 350kB --n-scale 47.6 "
    "--leak 20kB --serve 35.3ms --spawn 1.535s --held 1s"
)


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys, line):
    assert run(shlex.split(line)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("max-clients", MAX_CLIENTS),
        ("respawn", RESPAWN),
        ("slow", SLOW_CLIENT),
        ("life", LIFE),
    ],
)
def test_a_formula_prints_answer_working_book_and_warning(capsys, golden, name, line):
    out = shown(capsys, line)
    golden(f"formula/{name}.txt", out)
    parts = [out.index(f"\n{label}:\n") for label in ("working", "the book", "warning")]
    assert parts == sorted(parts)
    assert max(map(len, out.splitlines())) <= 80


def test_without_a_name_all_formulas_are_listed(capsys):
    out = shown(capsys, "formula")
    assert [
        line.split()[0] for line in out.splitlines() if line.split("  ")[0] in formulas()
    ] == list(formulas())
    joined = " ".join(out.split())
    assert all(each.question in joined for each in formulas().values())


def test_the_list_can_be_had_as_json(capsys):
    rows = json.loads(shown(capsys, "formula --json -"))["formulas"]
    assert [row["name"] for row in rows] == list(formulas())
    [row] = [row for row in rows if row["name"] == "max-clients"]
    assert row["inputs"][0]["option"] == "--ram"
    assert {each["verdict"] for each in row["printed"]} == {"agrees", "wrong"}


@pytest.mark.parametrize("formula", formulas().values(), ids=lambda each: each.name)
def test_the_example_of_each_help_works(capsys, formula):
    document = json.loads(shown(capsys, f"{formula.example.removeprefix('httpdyno ')} --json -"))
    assert document["formula"] == formula.name
    assert document["answer"]
    assert {each["name"] for each in document["figures"]} >= {each.name for each in formula.steps}
    assert all(document[part] for part in ("working", "book", "warnings"))
    run([*formula.example.split()[1:3], "--help"])
    joined = capsys.readouterr().out.replace("\\\n", "")
    assert " ".join(joined.split()).endswith(formula.example)


def test_the_figures_of_a_fit_are_null_where_nothing_is_bound(capsys):
    line = "formula unsharing --seen 0=350kB,25=8.6MB --seen 150=19.3MB,525=20.4MB --json -"
    fitted = json.loads(shown(capsys, line))["fitted"]
    assert fitted["leak_high"] is None
    assert fitted["level_high"] > 20.4e6


def test_json_can_go_to_a_file_beside_the_text(capsys, tmp_path):
    file = tmp_path / "answer.json"
    assert "MaxRequestWorkers 81" in shown(capsys, f"{MAX_CLIENTS} --json {file}")
    assert json.loads(file.read_text())["figures"][0]["value"] == 81


def test_the_page_can_be_printed(capsys):
    assert shown(capsys, "formula --markdown") == formula_reference()


@pytest.mark.parametrize(
    ("line", "error", "hint"),
    [
        ("max-client", "no formula is called `max-client`", "did you mean `max-clients`?"),
        ("zzz", "no formula is called `zzz`", "`httpdyno formula` lists them"),
        (
            "max-clients --ram 500MB",
            "`--child` is missing: RSS of the largest child",
            "is an example",
        ),
        ("max-clients --ram lots --child 1MB", "`--ram`: `lots` is not a size", "give bytes"),
        (
            "max-clients --ram 0 --child 1MB",
            "`--ram 0` makes no sense; expected more than 0",
            "it means: ",
        ),
        (
            "max-clients --ram 500MB --child 10MB --shared 10MB",
            "`--shared` makes no sense: a child of 10 MB that shares 10 MB has nothing of its own",
            "is an example",
        ),
        (
            "max-clients --ram 5MB --child 10MB",
            "`--child` makes no sense: a child of 10 MB does not fit into 5 MB",
            "is an example",
        ),
        (
            "max-clients --ram 500MB --child 10MB --parent 1GB",
            "`--parent` makes no sense: a parent of 1 GB leaves nothing of 500 MB",
            "is an example",
        ),
        (
            "workers --rate 5 --held 1s --busy 101%",
            "more than 0, at most 100 %",
            "it means: share of workers",
        ),
        ("workers --rate 5 --held 1", "`--held`: `1` is not a duration", "number and a unit"),
        (
            "per-day --rate 5 --peak 0.5x",
            "expected 1 × or more",
            "it means: rate of the busiest time",
        ),
        ("ram-for-load --rate 1 --held 1s --child 1MB --free 100%", "no memory left", "example"),
        ("respawn --seen 5=30,10=20", "the rate does not rise", "measure further apart"),
        ("respawn --seen 5=3,10=5 --loss 100%", "a loss of 100 % leaves nothing", "example"),
        ("cache-tree --levels 7 --length 3", "Apache refuses 7 levels of 3", "example"),
        ("gain --before 0 --after 5", "`--before 0` makes no sense", "the figure before"),
        ("gain --before 1 --after 1e30", "`1e30` is beyond any server", "of this world"),
        ("--json - gain --before 1 --after 2", "are for the list of all", "gain --json -"),
        ("gain --befor 1", "no such option", ""),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_a_hint(capsys, line, error, hint):
    assert run(["formula", *line.split()]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    first, _, second = seen.err.partition("\n\nhint: ")
    assert first.startswith("error: ")
    assert error.lower() in first.lower()
    assert hint in second
    assert len(first.splitlines()) == 1

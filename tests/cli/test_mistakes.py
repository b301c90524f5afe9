"""What a new user mistypes: one sentence with a way out, whichever command hears it."""

import re

import pytest

from httpdyno.cli.app import run

URL = "http://127.0.0.1:9/"

MISTAKES = [
    # options of ab, curl, wrk, wrk2, hey, k6, oha, vegeta and siege
    ("load URL --data-raw a=1", "`--data TEXT`"),
    ("load URL -I", "`-X HEAD`"),
    ("load URL -g plot.tsv", "`--hgrm FILE`"),
    ("load URL -s script.lua", "`--mix`"),
    ("load URL -R 500", "`--rate 500/s`"),
    ("load URL -z 10s", "`-d 30s`"),
    ("load URL --vus 10", "`-c 50`"),
    ("load URL --iterations 10", "`-n 1000`"),
    ("load URL --no-tui", "leave it out"),
    ("load URL --targets t.txt", "`--url-file FILE`"),
    ("load URL --time 1M", "`-d 30s`"),
    ("load URL -d 5", "such as `10s`"),
    # URLs
    ("load", "`http://localhost:8000/`"),
    ("load htp://127.0.0.1:9/", "`http://localhost:8000/path`"),
    ("load http:/127.0.0.1:9/", "write `http://127.0.0.1:9/`"),
    ("load https:/shop.example", "write `https://shop.example`"),
    ("load //127.0.0.1:9/", "`http://localhost:8000/path`"),
    ("load http://127.0.0.1:0/", "1 to 65535"),
    ("load ws://127.0.0.1:9/", "WebSockets cannot be loaded"),
    ("load URL -H broken", "`-H 'Accept: text/html'`"),
    ("load URL --fail-if p99", "`p99 > 200ms`"),
    # files
    ("load URL --json mine.json", "`--force`"),
    ("load URL --json @mine.json", "`--json mine.json`"),
    ("load URL --url-file missing.txt", "`missing.txt`"),
    # studies, metrics, knobs and budgets
    ("tune bookmark", "did you mean `bookmarks`?"),
    ("tune folder", "`httpdyno adopt`"),
    ("tune bookmarks --budget 5", "`--budget 5`"),
    ("tune bookmarks --metric thruput", "throughput_per_s"),
    ("compare bookmarks --b nope=1", "its knobs: "),
    ("compare bookmarks --a workers=1", "`--b`"),
    ("compare --url URL", "`--url` twice"),
    ("compare --url URL --url URL", "two instances have two addresses"),
    # servers
    ("adopt", "`httpdyno adopt --help`"),
    ("adopt missing.conf", "no file `missing.conf`"),
    ("adopt ngnix", "did you mean `nginx`?"),
    ("adopt :99999", "1 to 65535"),
    ("adopt 999999", "`pid:999999`"),
    ("adopt nginx --start-timeout 5", "`--start-timeout 5`"),
    ("inspect nginxx", "did you mean `nginx`?"),
    ("watch nosuch", "expected a kind"),
    ("watch :9 --every 1", "`--every 1`"),
    # runs and commands
    ("tunne bookmarks", "Did you mean `tune`?"),
    ("apply 3", "`httpdyno --help`"),
]


@pytest.mark.parametrize(("words", "way_out"), MISTAKES)
def test_a_mistake_is_one_sentence_with_a_way_out(words, way_out, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.json").write_text("theirs\n")
    (tmp_path / "folder").mkdir()
    assert run(words.replace("URL", URL).split()) == 2
    captured = capsys.readouterr()
    error, _, _ = captured.err.partition("\n\n")
    assert captured.out == ""
    assert error.startswith("error: ")
    assert "\n" not in error.strip()
    assert not re.search(r"Traceback|\bNone\b", captured.err)
    assert way_out in captured.err
    assert (tmp_path / "mine.json").read_text() == "theirs\n"


@pytest.mark.parametrize("run_id", ["999", "nope", "latest"])
def test_a_run_that_is_not_there_names_where_runs_are_listed(run_id, capsys):
    assert run(["report", run_id]) == 3
    assert "`httpdyno history` lists" in capsys.readouterr().err

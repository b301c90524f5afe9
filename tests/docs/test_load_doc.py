"""Every command of the manual of `httpdyno load` is run, and every option is in it."""

import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from tests.load.origin import Origin, origin

from httpdyno.cli.app import app_with, run
from httpdyno.errors import StudyFileError
from httpdyno.load.check import check_workload
from httpdyno.load.setting import TrafficTable, WorkloadTable
from httpdyno.model import Sessions
from httpdyno.study.workload import study_workload
from httpdyno.units import duration_s

REPOSITORY = Path(__file__).parents[2]
MANUAL = (REPOSITORY / "docs" / "load.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Language and text."""
FILES = {
    "access.log": "".join(
        f'::1 - - [10/Oct/2000:13:55:{k // 20:02} -0700] "{method} /item/{k} HTTP/1.1" 200 1\n'
        for k, method in enumerate(["GET", "GET", "HEAD", "POST"] * 10)
    ),
    "item.json": '{"name": "shoe"}',
    "login.json": '{"user": "{user}"}',
    "login.txt": "joe",
}
TRY_OUT = ("-d", "200ms", "--seed", "1")
"""As the manual says: the last one counts. With a seed of their own, sessions at 20/s begin none in
so short a time in one of 55 runs."""
RUNS_WHOLE_S = 1.0
RUNS_WHOLE_REQUESTS = 1000
NOT_RUN = "--yes-i-may-load"


def in_blocks(document: str) -> list[str]:
    """Return the command lines of a document's blocks."""
    lines = [
        line
        for kind, text in BLOCK.findall(document)
        if kind == "console"
        for line in text.splitlines()
    ]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ httpdyno load ")]


def commands() -> list[str]:
    """Return the command lines of the manual: its blocks, then its table."""
    rows = [line.split("|")[2] for line in MANUAL.splitlines() if line.startswith("| `")]
    return in_blocks(MANUAL) + [
        each for row in rows for each in re.findall(r"`(httpdyno load [^`]*)`", row)
    ]


def words_of(line: str, server: Origin) -> list[str]:
    """Return the words of a command with the addresses that the test has."""
    tls = server.facts["tls_address"].rpartition(":")[2]
    line = re.sub(r"\bURL1\b", "http://localhost:8000/list", line)
    line = re.sub(r"\bURL2\b", "http://localhost:8000/search", line)
    line = re.sub(r"\bURL\b", "http://localhost:8000/", line).replace("H:P", "localhost:8000")
    for written, real in (
        ("http://localhost:8000", server.url),
        ("http://127.0.0.1:8080", server.url),
        ("http://[::1]:8000", f"http://{server.doors[1]}"),
        ("https://localhost:8443", f"https://localhost:{tls}"),
        ("https://127.0.0.1:8443", f"https://127.0.0.1:{tls}"),
        # As with the other times, so much is enough to see that it runs.
        ("--warm-up 5s", "--warm-up 200ms"),
    ):
        line = line.replace(written, real)
    return shlex.split(line)[1:]


def is_short(words: list[str]) -> bool:
    """Whether a command ends by itself soon."""
    given = dict(pairwise(words))
    if "--rate" in given or "-n" not in given:
        # It takes a thousand requests to judge a p99.
        is_whole = any(word.startswith("p99") for word in words)
        return "-d" in given and (is_whole or duration_s(given["-d"]) <= RUNS_WHOLE_S)
    return int(given["-n"]) <= RUNS_WHOLE_REQUESTS


@pytest.fixture(scope="module")
def server(session_folder: Path) -> Iterator[Origin]:
    folder = session_folder / "manual"
    folder.mkdir()
    with origin(
        *("--door", f"unix:{folder}/app.sock", "--door", "[::1]:0"),
        *("--tls-door", "127.0.0.1:0", "--tls-folder", str(folder)),
    ) as started:
        yield started


@pytest.fixture
def here(server: Origin, own_folders: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the manual names."""
    for name, text in FILES.items():
        (own_folders / name).write_text(text, encoding="utf-8")
    [urls] = [text for _, text in BLOCK.findall(MANUAL) if text.startswith("# urls.txt")]
    (own_folders / "urls.txt").write_text(urls, encoding="utf-8")
    shutil.copy(server.facts["ca_file"], own_folders / "ca.pem")
    shutil.copy(server.facts["client_certificate_file"], own_folders / "client.pem")
    shutil.copy(server.facts["client_key_file"], own_folders / "client.key")
    (own_folders / "app.sock").symlink_to(server.doors[0].removeprefix("unix:"))
    monkeypatch.chdir(own_folders)
    return own_folders


SECTION = README.partition("## Load tests")[2].partition("\n## ")[0]


@pytest.mark.parametrize("line", [*commands(), *in_blocks(SECTION)])
def test_every_command_of_the_manual_runs(server, here, capsys, line):
    words = words_of(line, server)
    code = run(words if is_short(words) else [*words, *TRY_OUT])
    seen = capsys.readouterr()
    assert code == 0, seen.out + seen.err
    if "--hlog" in words:
        assert {"load.json", "load.csv", "load.hgrm", "load.hlog", "load.prom", "load.html"} <= {
            each.name for each in here.iterdir()
        }


def test_the_manual_has_the_commands_of_the_article():
    lines = "\n".join(commands())
    for words in (
        r"-n 100 -c 10 --no-keepalive",
        r"-n 1000 -c 10 --no-keepalive",
        r"-n 1000 -c 50 --no-keepalive",
        r"-c 5 -d 30s --no-keepalive",
        r"--rate 150/s -n 27000 .* --timeout 5s",
        r"/list \S+/search -n 200 -c 10 --timeout 10s",
    ):
        assert re.search(words, lines), words


def load_options() -> list[str]:
    """Return the long name of each option of the command."""
    command: Any = typer.main.get_command(app_with(["load"]))
    parameters = command.commands["load"].params
    options = [each for each in parameters if each.param_type_name == "option"]
    return [max(each.opts, key=len) for each in options if each.name != "help"]


def test_every_option_is_in_the_manual(subtests):
    for option in load_options():
        with subtests.test(option):
            command: Any = typer.main.get_command(app_with(["load"])).commands["load"]  # type: ignore[attr-defined]
            [parameter] = [each for each in command.params if option in each.opts]
            names = "|".join(map(re.escape, parameter.opts))
            where = MANUAL if option == NOT_RUN else "\n".join(commands())
            assert re.search(rf"(?<![\w-])({names})(?![\w-])", where), option


def test_the_readme_shows_the_way_to_the_manual():
    assert "](docs/load.md)" in SECTION
    assert len(in_blocks(SECTION)) > 3


def test_the_workloads_of_a_study_are_as_shown(tmp_path):
    texts = [text for kind, text in BLOCK.findall(MANUAL) if kind == "toml"]
    tables = [msgspec.convert(tomllib.loads(text)["workload"], WorkloadTable) for text in texts]
    shop, account = (study_workload(each, tmp_path / "study.toml", refused) for each in tables)
    assert isinstance(shop.arrival, Sessions)
    assert (shop.has_pages, shop.users.has_cookies) == (True, True)
    assert [each.body for each in account.first] == ["name=user{user}&password=secret"]
    assert [each.method for each in account.first] == ["POST"]
    assert [each.expect_status for each in (*account.first, *account.requests)] == [302, 200, 404]
    for workload in (shop, account):
        check_workload(workload)


def test_every_setting_of_a_study_is_an_option():
    settings = set(TrafficTable.__struct_fields__) - {"keep_alive"}
    assert {f"--{each.replace('_', '-')}" for each in settings} <= set(load_options())


def refused(key: str, value: object, expected: str) -> StudyFileError:
    raise AssertionError(f"{key} is {value!r}; expected {expected}")

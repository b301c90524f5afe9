"""A census of Apache: the book's walk to a place that no file stands for, and what ends it."""

import json

import pytest
from tests.real.foreground import await_children, free_port, started_in
from tests.real.sites.walked import URL_PATH, WAYS, walked_site

from httpdyno.cli.app import run
from httpdyno.telemetry.syscalls.count import PerRequest

pytestmark = pytest.mark.real_server("apache2", "strace")

N_WORKERS = 2
NEVER = {"mean": 0.0, "low": 0, "high": 0}


@pytest.fixture
def inspected(own_folders, capsys):
    def inspected(way):
        port = free_port()
        with started_in(own_folders) as start:
            pid = start(walked_site(own_folders, port, way, handler="modperl"), port)
            await_children(N_WORKERS, pid)
            url = f"http://127.0.0.1:{port}{URL_PATH}"
            code = run(["inspect", "--census", url, "--census-requests", "4", "--json", "-"])
        said = capsys.readouterr()
        assert code == 0, said.err
        assert "strace traces apache" in said.err
        [server] = json.loads(said.out)["servers"]
        assert server["pid"] == pid
        assert server["census"]["warnings"] == []
        return server

    return inspected


def of_kind(server, kind):
    found = [each["calls"] for each in server["census"]["kinds"] if each["kind"] == kind]
    return found[0] if found else NEVER


def each(n):
    return {"mean": float(n), "low": n, "high": n}


def names(server):
    return {finding["name"]: finding["evidence"] for finding in server["findings"]}


def test_each_folder_down_to_the_root_is_asked_for_and_its_htaccess(inspected, own_folders):
    server = inspected("AllowOverride All")
    n_folders = len((own_folders / "docs").parts)  # `/` too
    # `/` is no link, and the first part of the URL is looked for below the root.
    assert of_kind(server, "lstat") == each(n_folders)
    assert of_kind(server, "stat") == each(1)
    assert server["census"]["htaccess_opens"] == each(n_folders)
    assert server["census"]["answers"] == {"200": 1 + 9 + 4}
    found = names(server)
    assert found["overrides"].startswith(f"{n_folders} opens of a `.htaccess` in each request of ")
    assert found["walked-path"].startswith(f"1 `stat` and {n_folders} `lstat` in ")


@pytest.mark.parametrize("way", [way for way in WAYS if "Handler" in way])
def test_a_handler_of_the_way_ends_the_walk(way, inspected):
    server = inspected(way)
    for kind in ("stat", "lstat", "open"):
        assert of_kind(server, kind) == NEVER
    assert not {"overrides", "walked-path"} & set(names(server))


def test_an_alias_shortens_the_walk(inspected):
    server = inspected("None + Alias /news/ /")
    assert PerRequest(**of_kind(server, "lstat")) == PerRequest(mean=1, low=1, high=1)
    assert server["census"]["htaccess_opens"] == NEVER

"""A pool that httpdyno did not start is looked at while it is loaded."""

import json
import sys

import pytest
from tests.real.foreground import await_children, free_port, started_in

from httpdyno.cli.app import run

APPLICATION = """
import socket, time

LEFT, KEPT = bytearray(), []

def app(environ, answer):
    if environ["PATH_INFO"] == "/ask" and not KEPT:
        KEPT.append(socket.create_connection(("127.0.0.1", int(environ["QUERY_STRING"]))))
    if environ["PATH_INFO"] == "/wait":
        time.sleep(0.02)
    if environ["PATH_INFO"] == "/leak":
        LEFT.extend(bytes(1024))
    if environ["PATH_INFO"] == "/fat":
        LEFT[:] = b"x" * (4 << 20)
    answer("200 OK", [("Content-Length", "3")])
    return [b"ok\\n"]
"""
N_WORKERS = 2


@pytest.fixture
def gunicorn(own_folders):
    port = free_port()
    (own_folders / "shop.py").write_text(APPLICATION)
    words = ["gunicorn", "shop:app", f"-w{N_WORKERS}", "--preload", "--no-control-socket"]
    with started_in(own_folders) as start:
        pid = start([sys.executable, "-m", *words, "-b", f"127.0.0.1:{port}"], port)
        await_children(N_WORKERS, pid)
        yield pid, f"http://127.0.0.1:{port}"


def test_sizes_come_with_the_requests_that_they_are_of(gunicorn, capsys):
    pid, url = gunicorn
    words = ["inspect", f"pid:{pid}", "--load", f"{url}/leak", "--for", "2s", "--json", "-"]
    assert run(words) == 0
    seen = capsys.readouterr()
    document = json.loads(seen.out)
    load = document["servers"][0]["load"]
    assert load["completed"] > 100
    assert load["errors"] == 0
    last = {each["pid"]: each for each in load["readings"]}
    assert len(last) == N_WORKERS
    # All that was answered was shared out, the last look came after the last answer.
    assert sum(each["n_requests"] for each in last.values()) == pytest.approx(load["completed"])
    first = {each["pid"]: each for each in reversed(load["readings"])}
    grown = sum(last[pid]["uss_bytes"] - first[pid]["uss_bytes"] for pid in last)
    assert grown > 0.8 * 1024 * load["completed"]
    assert load["growth"]["verdict"] in {"leak", "cannot_tell", "growing"}
    # It is one server: what scripts ask for stands at the top.
    assert document["pool"]["pss_bytes"] >= document["pool"]["uss_bytes"] > 0
    wanted = {"pid", "pss_bytes", "uss_bytes", "shared_bytes", "age_s", "cpu_s"}
    assert all(wanted <= set(each) for each in document["workers"])
    assert isinstance(document["findings"], list)
    assert "without `--load` inspect sends nothing" in seen.err


def test_what_its_workers_were_at_says_what_limited_it(gunicorn, capsys):
    pid, url = gunicorn
    words = ["inspect", f"pid:{pid}", "--load", f"{url}/wait", "-c", "6", "--for", "2s"]
    assert run([*words, "--json", "-"]) == 0
    load = json.loads(capsys.readouterr().out)["servers"][0]["load"]
    look, found = load["look"], load["bottleneck"]
    assert look["workers"] == pytest.approx(N_WORKERS, abs=0.2)
    assert look["doing"]["sleep"] > 1
    # Of whoever else uses the cores it depends whether some are left for more workers.
    assert found["limit"] in {"too_few_workers", "unknown"}
    if found["limit"] == "too_few_workers":
        assert found["evidence"]["unserved"] == pytest.approx(4, abs=1)


def test_its_cpu_time_names_whom_it_asks_for_answers(gunicorn, own_folders, capsys):
    pid, url = gunicorn
    behind = free_port()
    holds = f"s = socket.create_server(('127.0.0.1', {behind})); [s.accept() for _ in range(99)]"
    with started_in(own_folders) as start:
        other = start([sys.executable, "-c", f"import socket; {holds}"], behind)
        # No worker is connected before the load.
        words = ["inspect", f"pid:{pid}", "--load", f"{url}/ask?{behind}", "--for", "1s"]
        assert run([*words, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    [place] = document["servers"][0]["load"]["behind"]
    assert place["to"] == f"127.0.0.1:{behind}"
    assert place["by"].endswith(f" {other}")


@pytest.mark.timeout(180)
def test_load_tests_and_comparisons_name_whom_it_asks_too(gunicorn, own_folders, capsys):
    _, url = gunicorn
    behind, second = free_port(), free_port()
    holds = f"s = socket.create_server(('127.0.0.1', {behind})); [s.accept() for _ in range(99)]"
    words = [sys.executable, "-m", "gunicorn", "shop:app", "--no-control-socket"]
    with started_in(own_folders) as start:
        other = start([sys.executable, "-c", f"import socket; {holds}"], behind)
        start([*words, "-b", f"127.0.0.1:{second}"], second)
        urls = [f"{url}/ask?{behind}", f"http://127.0.0.1:{second}/ask?{behind}"]
        assert run(["load", urls[0], "-c", "4", "-n", "100", "--look", "--json", "-"]) == 0
        loaded = json.loads(capsys.readouterr().out)
        named = [word for each in urls for word in ("--url", each)]
        asked = ["compare", *named, "-c", "4", "--json", "-"]
        # Where latencies are long on a busy machine, the shorter ones are refused by their length.
        assert 0 in (run([*asked, "-d", lasts]) for lasts in ("2s", "15s", "60s"))
        compared = json.loads(capsys.readouterr().out)
    for document in (loaded, *compared["plan"]["instances"]):
        [place] = document["behind"]
        assert place["to"] == f"127.0.0.1:{behind}"
        assert place["by"].endswith(f" {other}")


def test_each_url_alone_says_what_it_leaves(gunicorn, capsys):
    pid, url = gunicorn
    loads = ["--load", f"{url}/", "--load", f"{url}/fat"]
    assert run(["inspect", f"pid:{pid}", *loads, "--for", "300ms", "-c", "2", "--json", "-"]) == 0
    [light, fat] = json.loads(capsys.readouterr().out)["servers"][0]["load"]["high_water"]
    assert (light["url"], fat["url"]) == (f"{url}/", f"{url}/fat")
    assert fat["step_bytes"] > max(0, light["step_bytes"]) + (1 << 19)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--for", "3s"], "`--for` is for `--load`"),
        (["--load", "http://192.0.2.7/"], "neither this machine nor in a private network"),
        (["--load", "{url}/", "--respawn", "5"], "`--respawn 5` is not a pair"),
        (["--load", "{url}/", "--status", "{url}/"], "does not tell how many requests"),
    ],
)
def test_what_makes_no_sense_is_refused(gunicorn, capsys, words, message):
    pid, url = gunicorn
    assert run(["inspect", f"pid:{pid}", *(word.format(url=url) for word in words)]) != 0
    assert message in capsys.readouterr().err

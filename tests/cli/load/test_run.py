"""`httpdyno load`, as a user runs it."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic, sleep

import pytest
from tests.load.site import DEADLINE_S, Site, serving

from httpdyno.cli.app import run
from httpdyno.telemetry.host import fresh_card


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as one:
        yield one


def load(*words: str) -> int:
    return run(["load", *words])


def test_a_server_that_answers_is_0(site, capsys):
    assert load(f"http://{site.address}/", "-c", "2", "-n", "30") == 0
    seen = capsys.readouterr()
    assert seen.out.splitlines()[0].startswith("30 of 30 requests completed")
    [told] = seen.err.splitlines()
    assert told.startswith(
        f"loading http://{site.address}/: closed loop, 2 connections, keep-alive, for 30 requests, "
        "seed "
    )
    assert told.rpartition(" ")[2].isdecimal()


HEAVY = ("numpy", "pydantic", "scipy", "jinja2", "sqlalchemy")


@pytest.mark.parametrize("words", [["-n", "1"], ["-n", "19", "-c", "3", "--json", "-"]])
def test_a_handful_of_requests_loads_nothing_that_costs_more_than_they_do(site, words):
    code = (
        "import sys; from httpdyno.cli.app import run;"
        f"code = run(['load', 'http://{site.address}/', *{words!r}]);"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines()[-1] == "0 []"


def test_a_warm_up_is_sent_and_in_no_figure(site, tmp_path, capsys):
    words = ["-c", "2", "-n", "30", "--warm-up", "200ms", "--json", str(tmp_path / "load.json")]
    assert load(f"http://{site.address}/", *words) == 0
    seen = capsys.readouterr()
    assert "for 30 requests after 200 ms of warm-up, seed" in seen.err
    assert seen.out.startswith("30 of 30 requests completed")
    assert "after 200 ms of the same load, in no figure" in " ".join(seen.out.split())
    told = json.loads((tmp_path / "load.json").read_text())
    assert (told["offered"], told["warm_up_s"]) == (30, 0.2)
    assert told["connects"] == 0  # they were there already
    assert len(site.seen) > 30


def test_a_redirect_is_followed_once_where_that_is_asked_for(site, capsys):
    url = f"http://{site.address}/to/to/"
    assert load(url, "-c", "1", "-n", "5") == 1
    assert "hint: `--location` loads where redirects lead" in capsys.readouterr().out
    site.seen.clear()
    assert load(url, "-L", "-c", "1", "-n", "5", "-H", "X: y") == 0
    seen = capsys.readouterr()
    assert f"{url} leads to http://{site.address}/\n" in seen.err
    assert f"\nhttp://{site.address}/, closed loop" in seen.out
    asked = [(path, headers["x"]) for _, path, headers, _ in site.seen]
    assert asked == [("/to/to/", "y"), ("/to/", "y"), *[("/", "y")] * 6]


@pytest.mark.parametrize(
    ("to", "words", "complaint"),
    [
        ("/shop.example/", [], "`shop.example`"),
        ("/LOCALHOST:{port}/", ["-u", "a:b"], "`, which your credentials are not for"),
        ("/127.0.0.1:1/", ["-H", "Cookie: a=b"], "leads to `http://127.0.0.1:1`, which your"),
        ("/127.0.0.1:1/", [], "`http://127.0.0.1:1/` did not answer"),
    ],
)
def test_a_redirect_is_not_followed_anywhere(site, to, words, complaint, capsys):
    port = site.address.rpartition(":")[2]
    url = f"http://{site.address}/to/{to.format(port=port)}"
    assert load(url, "--location", "-n", "5", *words) in {2, 3}
    assert complaint in capsys.readouterr().err
    assert len(site.seen) == 1


def test_redirects_that_have_no_end_are_refused(site, capsys):
    assert load(f"http://{site.address}{'/to' * 11}/", "-L", "-n", "5") == 2
    assert "leads from redirect to redirect, 10 times" in capsys.readouterr().err
    assert len(site.seen) == 10


@pytest.mark.parametrize(
    ("words", "is_hinted"),
    [
        (["--data", '{"a": {n}}'], True),
        (["--data", "@{file}"], True),
        (["--data", '{"a": 1}', "-H", "content-type: application/json"], False),
        (["--data", "a=[1]"], False),
        (["--data", "{user}=1"], False),
        ([], False),
    ],
)
def test_json_that_goes_out_as_a_form_is_told(site, words, is_hinted, tmp_path, capsys):
    (tmp_path / "body.json").write_text("[\n  1]")
    filled = [word.replace("{file}", str(tmp_path / "body.json")) for word in words]
    assert load(f"http://{site.address}/", "-c", "1", "-n", "1", *filled) == 0
    assert ("hint: a JSON body goes out as a form" in capsys.readouterr().err) == is_hinted


def test_a_path_that_answers_404_is_1_and_the_first_line_says_so(site, capsys):
    assert load(f"http://{site.address}/no", "-c", "2", "-n", "30") == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("0 of 30 requests completed")
    assert "404" in first
    assert "expected 200" in first


@pytest.mark.parametrize("words", [["-n", "10"], ["-d", "0.2s"], ["--rate", "50/s", "-d", "0.2s"]])
def test_where_nothing_listens_that_is_said_and_nobody_was_the_limit(words, tmp_path, capsys):
    document = tmp_path / "load.json"
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens on it, and nobody else can
        port = held.getsockname()[1]
        assert load(f"http://127.0.0.1:{port}/", *words, "--json", str(document)) == 1
    seen = capsys.readouterr().out
    assert seen.startswith(f"nothing listens at 127.0.0.1:{port}: all ")
    assert "limited by" not in seen
    told = json.loads(document.read_text())
    assert (told["limited_by"], told["limited_by_text"]) == ("", "")


def test_the_status_that_is_right_can_be_named(site):
    assert load(f"http://{site.address}/no", "-c", "1", "-n", "5", "--expect-status", "404") == 0


def test_json_on_stdout_is_all_there_is(site, capsys):
    url = f"http://{site.address}/"
    assert load(url, "-c", "2", "-n", "30", "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["offered"] == document["completed"] == 30
    assert document["errors"] == {}
    assert document["statuses"] == {"200": 30}
    assert document["throughput_per_s"] > 0
    assert set(document["latency_s"]) == {
        *("n", "sum_s", "mean", "p50", "p90", "p95", "p99", "p999", "max", "min", "std_dev")
    }
    assert {"service_time_s", "lateness_s", "client_cpu_s", "limited_by"} <= set(document)
    assert document["provenance"]["url"] == url


def test_the_machine_s_card_is_beside_a_result_where_one_was_taken_before(site, capsys, tmp_path):
    def host():
        page = tmp_path / "load.html"
        assert load(f"http://{site.address}/", "-n", "4", "--json", "-", "--html", str(page)) == 0
        assert ("this machine takes" in page.read_text()) is (len(told) > 0)
        return json.loads(capsys.readouterr().out)["provenance"]["host"]

    told: list[float] = []
    assert host()["card"] is None
    told.append(fresh_card(lambda: 5e4).card.fork_s)
    assert host()["card"]["fork_s"] == told[0]


def test_json_says_404_too(site, capsys):
    assert load(f"http://{site.address}/no", "-c", "2", "-n", "10", "--json", "-") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["completed"] == 0
    assert document["errors"] == {"wrong_status": 10}


def test_headers_method_and_body_are_sent(site):
    code = load(
        f"http://{site.address}/",
        *("-c", "1", "-n", "1", "-H", "X-One: 1", "-H", "Host: example.test", "--data", "a=b"),
    )
    assert code == 0
    [(method, path, headers, body)] = site.seen
    assert (method, path, body) == ("POST", "/", b"a=b")
    assert headers["x-one"] == "1"
    assert headers["host"] == "example.test"
    assert headers["content-type"] == "application/x-www-form-urlencoded"


def test_the_name_that_was_typed_is_the_host_header(site):
    port = site.server_address[1]
    assert load(f"http://localhost:{port}/", "-c", "1", "-n", "1") == 0
    assert site.seen[0][2]["host"] == f"localhost:{port}"


def test_a_rate_is_kept_and_latency_counts_from_the_due_time(site, capsys):
    words = ("-c", "4", "--rate", "100/s", "-d", "500ms", "--json", "-")
    assert load(f"http://{site.address}/", *words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["offered"] == pytest.approx(50, abs=2)
    assert document["latency_label"] == "from the due time"


def test_nobody_listening_is_1_and_says_so(capsys):
    with socket.socket() as holder:  # bound, but not listening: nobody else gets the port
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        assert load(f"http://127.0.0.1:{port}/", "-c", "1", "-n", "3") == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"nothing listens at 127.0.0.1:{port}: all 3 were refused a connection"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_ends_it_with_what_was_measured(site, number):
    command = [sys.executable, "-m", "httpdyno", "load", f"http://{site.address}/", "-d", "60s"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline_s = monotonic() + DEADLINE_S
        while not site.seen and process.poll() is None and monotonic() < deadline_s:
            sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, err
    assert "requests completed" in out.splitlines()[0]
    assert err.splitlines()[-1] == "interrupted"

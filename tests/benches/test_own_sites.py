"""The bench of people's own sites: what it says of runs whose outcome is known."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from benches.own_sites import answers
from benches.own_sites.applications import Application
from benches.own_sites.evening import Server
from benches.own_sites.running import started_as

from httpdyno.errors import HttpdynoError

bench = import_module("benches.own_sites.__main__")

CASE = bench.Case(
    folder=Path("/srv/site"),
    words=("nginx",),
    mistakes={"php:pm.max_children": (1, 8), "php:opcache.enable": (False, True)},
    inert={"nginx:listen_backlog": (511, 4096), "nginx:output_buffers": ("2x32k", "4x64k")},
    most_diff_lines=6,
)
START = {knob: found for knob, (found, _) in {**CASE.mistakes, **CASE.inert}.items()}
RIGHT = {"php:pm.max_children": 16, "php:opcache.enable": True}
DIFF = """--- /srv/site/www.conf
+++ /srv/site/www.conf
@@ -1,2 +1,2 @@
-pm.max_children = 1
+pm.max_children = 16
 a line beside
"""


def outcome(*, verdict="better", withdrawn="", tried=tuple(CASE.mistakes), **changed):
    return {
        "plan": {"start": START, "steps": [f"{knob}=1" for knob in tried]},
        "steps": [{"knob": knob} for knob in tried[:1]],
        "configuration": {**START, **RIGHT, **changed},
        "final": {
            "verdict": verdict,
            "ratios": {"throughput": {"ratio": 61.4, "low": 57.4, "high": 65.6}},
        },
        "withdrawn": withdrawn,
    }


def result(*, of=None, took_s=300.0, diff=DIFF, touched=(), found=RIGHT):
    return bench.judged(
        "shop", CASE, of or outcome(), took_s, diff=diff, touched=touched, found=found
    )


def test_a_run_that_found_all_is_right():
    found = result()
    assert found.is_right
    assert found.n_diff_lines == 2
    assert bench.told(found)[:2] == [
        "shop: right, 300 s",
        "  final over start                            better 61.4 × (57.4 … 65.6)",
    ]


@pytest.mark.parametrize(
    ("of", "word"),
    [
        (result(of=outcome(**{"php:pm.max_children": 1})), "php:pm.max_children"),
        (result(of=outcome(tried=[*CASE.mistakes][:1])), "php:opcache.enable"),
        (
            result(of=outcome(tried=[*CASE.mistakes][::-1])),
            "tried first, to be php:pm.max_children".ljust(44) + "php:opcache.enable",
        ),
        (result(of=outcome(verdict="inconclusive")), "inconclusive"),
        (result(of=outcome(withdrawn="the final is not better")), "better"),
        (
            result(of=outcome(**{"nginx:listen_backlog": 4096, "nginx:output_buffers": "4x64k"})),
            "nginx:listen_backlog, nginx:output_buffers",
        ),
        (result(took_s=601.0), "601 s"),
        (result(diff=DIFF * 4), "8"),
        (result(touched=("/srv/site/www.conf",)), "/srv/site/www.conf"),
        (result(found={**RIGHT, "php:pm.max_children": 8}), "php:pm.max_children 8, proven 16"),
        (bench.Result(name="shop", trouble="tune ended with 3"), "tune ended with 3"),
    ],
)
def test_what_is_not_as_asked_is_missed_and_named(of, word):
    assert not of.is_right
    lines = bench.told(of)
    assert "MISSED" in lines[0]
    assert word in "\n".join(lines)


def test_a_smaller_mistake_may_be_left_to_the_next_run():
    found = result(of=outcome(**{"php:opcache.enable": False}))
    assert found.is_right
    assert "php:opcache.enable" in "\n".join(bench.told(found))


def test_what_tune_printed_is_told_where_something_is_missed():
    missed = bench.Result(name="shop", text="the start stays:\nLittle's law\n")
    assert bench.told(missed)[-2:] == ["  | the start stays:", "  | Little's law"]
    assert "Little" not in "\n".join(bench.told(replace(result(), text=missed.text)))


def test_one_inert_knob_may_be_kept():
    assert result(of=outcome(**{"nginx:listen_backlog": 4096})).is_right


def test_a_run_without_a_final_claim_is_missed():
    found = result(of={**outcome(), "final": None})
    assert not found.is_right
    assert found.final == "none"


def test_a_diff_that_nothing_bounds_is_as_long_as_it_takes():
    unbounded = replace(CASE, most_diff_lines=None)
    found = bench.judged("shop", unbounded, outcome(), 90.0, diff=DIFF * 4, touched=(), found=RIGHT)
    assert found.is_right


SHOWN = """--- command line of node, an argument to a line
+++ command line of node, an argument to a line
@@ -1,2 +1,3 @@
 node
 a.js
+--workers=2
--- environment
+++ environment
@@ -0,0 +1 @@
+node: NODE_ENV=production
"""


def test_a_server_is_started_as_a_run_shows_it(tmp_path):
    server = Server(command=("node", "a.js"), variables={"A": "1"})
    found = started_as(server, server.command, SHOWN, tmp_path)
    assert found.command == ("node", "a.js", "--workers=2")
    assert found.variables == {"A": "1", "NODE_ENV": "production"}
    with pytest.raises(HttpdynoError, match="not as shown"):
        started_as(server, ["deno", "b.js"], SHOWN, tmp_path)


def page(body, status=200):
    return answers.Page(status=status, body=body, kind="text/html")


def application(*pages, socket=None):
    return Application(servers=(), pages=pages, greeting="Wiki", socket=socket)


def test_what_is_of_one_answer_alone_is_no_difference():
    real = page("<h1>Wiki</h1>\nsaid 2026-11-28 01:50:02\ntoken 0123456789abcdef0123\n")
    copy = page("<h1>Wiki</h1>\nsaid 2026-11-28 01:51:59\ntoken fedcba98765432100123\n")
    assert not answers.first_difference(real, copy)


@pytest.mark.parametrize(
    ("copy", "word"),
    [
        (page("Setup Error"), "`<h1>Wiki</h1>` became `Setup Error`"),
        (page("<h1>Wiki</h1>\n" * 40), "`(nothing more)` became `<h1>Wiki</h1>`"),
        (page("<h1>Wiki</h1>", status=500), "`200 text/html ` became"),
    ],
)
def test_a_difference_is_told_by_its_first_line(copy, word):
    assert word in answers.first_difference(page("<h1>Wiki</h1>"), copy)


SEEN = ("check /a: 200 of 90 bytes became 200 of 9", "start 1 /a: `Wiki` became `Error`")
REACHED = "a socket of the real one was reached, 2 times"
SOCKET = Path("/run/redis.sock")


@pytest.mark.parametrize(
    ("differences", "named", "socket", "word"),
    [
        ((), (), None, answers.SAME),
        (SEEN, (), None, answers.DIFFERS),
        (SEEN, ("study check: wrong response: GET /a is not the rehearsal's",), None, "refused"),
        (SEEN, ("study check: wrong response: GET /b is not the rehearsal's",), None, "DIFFERS"),
        (("`adopt` ended with 3: it exited",), (), None, answers.NOT_TAKEN),
        ((REACHED,), (), None, answers.DIFFERS),
        (("files of the real one changed: /srv/a",), (), None, answers.DIFFERS),
        ((), (f"adopt: may not reach unix:{SOCKET}",), SOCKET, answers.REFUSED),
        ((), (), SOCKET, answers.DIFFERS),
    ],
)
def test_only_what_is_named_page_by_page_is_refused(differences, named, socket, word):
    assert answers.judged(application("/a", socket=socket), differences, named).startswith(word)


def test_a_command_that_tells_of_words_that_vary_refuses_nothing():
    said = "GET /a: of 90 words of its body 2 may differ\nerror: wrong response: GET /a\n"
    assert answers.telling(said) == ["error: wrong response: GET /a"]


def test_a_difference_of_all_starts_is_told_once():
    both = (*SEEN, "start 2 /a: `Wiki` became `Error`")
    lines = answers.told(answers.Row(name="wiki", word=answers.DIFFERS, differences=both))
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["check /a", "start 1 /a"]

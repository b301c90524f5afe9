"""Each rule is declared once, and all that is made of it must be there and fit."""

import re
from pathlib import Path
from typing import Any

from tests.rows import each_row

from httpdyno.advice.curve import ALIKE_RATIO, MOST_LOST_RATIO
from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.apache import HEAVY_BYTES
from httpdyno.advice.rules.declaration import LOOKS, SEVERITIES, Rule, Seen, findings_of
from httpdyno.advice.rules.facts import Facts
from httpdyno.advice.rules.workers import FEW, VARIABLE
from httpdyno.model import Survey
from httpdyno.reason import because
from httpdyno.registry import site_adapters
from httpdyno.report.shared.reference import rule_reference
from httpdyno.units import format_bytes, format_percent

DOCS = Path(__file__).parents[3] / "docs"
HEADINGS = ("checks", "why", "fix", "risks", "unless", "source")


def _id(rule):
    return rule.name


def test_no_two_rules_have_one_name():
    n = len(all_rules())
    assert (
        len({each.name for each in all_rules()}) == len({each.checks for each in all_rules()}) == n
    )


def test_each_row_has_its_function_and_each_function_its_row():
    assert sorted(LOOKS) == sorted(each.name for each in all_rules())


@each_row("rule", all_rules(), ids=_id)
def test_a_rule_has_all_its_headings(rule):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    for heading in HEADINGS:
        words = getattr(rule, heading)
        assert words
        assert words.endswith(".") is (heading == "why"), heading
    assert not rule.needs or rule.needs.endswith(".")
    assert {each.name for each in site_adapters()} >= set(rule.kinds)


@each_row("rule", all_rules(), ids=_id)
def test_a_rule_says_nothing_of_a_server_of_which_nothing_is_known(rule):
    for kind in rule.kinds:
        for names in (None, ()):
            facts = Facts(kind=kind, survey=Survey(version=""), environment_names=names)
            assert list(LOOKS[rule.name](facts)) == []


def test_the_manual_counts_them():
    assert f"{len(all_rules())} rules" in (DOCS / "inspect.md").read_text(encoding="utf-8")


def test_the_page_has_every_rule():
    assert [
        each.name for each in all_rules() if f"\n## {each.name}\n" not in rule_reference()
    ] == []


@each_row(
    ("name", "heading", "said"),
    [
        (
            "workers-and-lives",
            "needs",
            f"replacing them takes {format_percent(MOST_LOST_RATIO)} of the",
        ),
        ("workers-and-lives", "needs", f"at most {format_percent(ALIKE_RATIO)} fewer workers"),
        *(
            (name, "needs", f"more than {format_percent(MOST_LOST_RATIO)} of the rate. Otherwise")
            for name in ("short-lives", "php-short-lives", "gunicorn-short-lives")
        ),
        *(
            (name, "needs", f"is below {FEW}, and")
            for name in ("short-lives", "php-short-lives", "gunicorn-short-lives")
        ),
        ("kept-heavy-workers", "needs", f"largest has {format_bytes(HEAVY_BYTES)} of its own"),
        *(
            (name, "needs", f"`{VARIABLE}`")
            for name in (
                *("one-sync-worker", "no-jitter", "no-preload"),
                *("gunicorn-unread-keepalive", "gunicorn-closes-first"),
            )
        ),
    ],
)
def test_its_words_have_the_numbers_that_its_function_has(name, heading, said):
    [rule] = [each for each in all_rules() if each.name == name]
    assert said in getattr(rule, heading)


def _rule(name, severity):
    words: dict[str, Any] = dict.fromkeys(HEADINGS, "x")
    return Rule(name=name, kinds=("nginx",), severity=severity, says="x", **words)


def test_the_worst_comes_first_and_many_places_are_counted(monkeypatch):
    first = (
        Seen(what=because("b.1")),
        Seen(what=because("b.2"), severity="bad", do=because("b.do")),
    )
    second = (Seen(what=because("a.3"), evidence=("p", "p", "q", "r", "s", "t")),)
    monkeypatch.setitem(LOOKS, "b", lambda _: iter(first))
    monkeypatch.setitem(LOOKS, "a", lambda _: iter(second))
    rules = (_rule("b", "hint"), _rule("a", "doubtful"))
    facts = Facts(kind="nginx", survey=Survey(version=""))
    found = findings_of(facts, rules)
    assert [each.severity for each in found] == list(SEVERITIES)
    assert [(each.name, each.what, each.do) for each in found] == [
        ("b", because("b.2"), because("b.do")),
        ("a", because("a.3"), None),
        ("b", because("b.1"), None),
    ]
    assert found[1].evidence == ("p", "q", "r", because("advice.more", n=2))
    assert findings_of(Facts(kind="apache", survey=Survey(version="")), rules) == ()

"""Each rule is declared once, and all that is made of it must be there and fit."""

import re
from pathlib import Path
from typing import Any

from httpdyno.advice.rules import RULES
from httpdyno.advice.rules.declaration import SEVERITIES, Rule, Seen
from httpdyno.advice.rules.facts import Facts
from httpdyno.advice.rules.finding import findings_of
from httpdyno.advice.rules.reference import rule_reference
from httpdyno.model import Survey
from httpdyno.registry import site_adapters

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = DOCS / "rules.md"
HEADINGS = ("checks", "matters", "needs", "do", "risks", "wrong", "source")


def test_no_two_rules_have_one_name():
    assert len({each.name for each in RULES}) == len({each.checks for each in RULES}) == len(RULES)


def test_a_rule_has_all_its_headings(subtests):
    for rule in RULES:
        with subtests.test(rule.name):
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
            for heading in HEADINGS:
                words = getattr(rule, heading)
                assert words
                assert words.endswith(".") is (heading in {"matters", "needs"}), heading
            assert {each.kind for each in site_adapters()} >= set(rule.kinds)


def test_a_rule_says_nothing_of_a_server_of_which_nothing_is_known(subtests):
    for rule in RULES:
        with subtests.test(rule.name):
            for kind in rule.kinds:
                for names in (None, ()):
                    facts = Facts(kind=kind, survey=Survey(version=""), environment_names=names)
                    assert list(rule.look(facts)) == []


def test_the_page_is_up_to_date():
    assert REFERENCE.read_text(encoding="utf-8") == rule_reference(), "run `make docs`"


def test_the_manual_counts_them():
    assert f"{len(RULES)} rules" in (DOCS / "inspect.md").read_text(encoding="utf-8")


def test_the_page_has_every_rule():
    assert [each.name for each in RULES if f"\n## {each.name}\n" not in rule_reference()] == []


def _rule(name, severity, *seen):
    words: dict[str, Any] = dict.fromkeys(HEADINGS, "x")
    return Rule(name=name, kinds=("nginx",), severity=severity, look=lambda _: iter(seen), **words)


def test_the_worst_comes_first_and_many_places_are_counted():
    rules = (
        _rule("b", "hint", Seen(what="1"), Seen(what="2", severity="bad", do="this")),
        _rule("a", "doubtful", Seen(what="3", evidence=("p", "p", "q", "r", "s", "t"))),
    )
    facts = Facts(kind="nginx", survey=Survey(version=""))
    found = findings_of(facts, rules)
    assert [each.severity for each in found] == list(SEVERITIES)
    assert [(each.name, each.what, each.do) for each in found] == [
        ("b", "2", "this"),
        ("a", "3", "x"),
        ("b", "1", "x"),
    ]
    assert found[1].evidence == "p; q; r; and 2 more"
    assert findings_of(Facts(kind="apache", survey=Survey(version="")), rules) == ()

"""The rules as a page to read, `docs/rules.md`, made of their declarations."""

from collections.abc import Iterator

from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.declaration import SEVERITIES, Rule

_HEAD = """\
# Rules

What `httpdyno inspect` says of settings: what the book (*Practical mod_perl* by Bekman and Cholet,
2004, chapter 11) and the servers' own manuals say that a machine can check. A rule reads what is
known of a server, and changes nothing. Where what it needs is not known it says nothing.

Where a knob stands for what a rule says, it has that proposed: the study that `httpdyno adopt`
makes tries it first, with the finding as the reason, and `httpdyno tune` proves whether it helps.
What a running server shows unasked (memory, queues) `adopt` sees as it is at that moment. What
needs load or a census it does not look for: `httpdyno inspect` says with which `--knob` it is told.

`bad`: it does not do what it says, or harms under load. `doubtful`: it mostly costs more than it
gives. `hint`: it costs something, and somebody may want that. None of it is measured: `httpdyno
tune` and `httpdyno compare` measure.

This page is made by `make docs` of `python/httpdyno/advice/rules/rules.toml`.
"""


def rule_reference() -> str:
    """Return the page in Markdown."""
    parts = [_HEAD]
    for severity in SEVERITIES:
        index = [
            f"- [`{each.name}`](#{each.name}): {each.checks} ({', '.join(each.kinds)})"
            for each in all_rules()
            if each.severity == severity
        ]
        parts += [f"Mostly `{severity}`:", "\n".join(index)]
    for each in all_rules():
        parts += _section(each)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _section(rule: Rule) -> Iterator[str]:
    yield f"## {rule.name}"
    yield f"{', '.join(rule.kinds)}; mostly `{rule.severity}`. **{_sentence(rule.checks)}**"
    yield f"**Why.** {rule.why}"
    if rule.needs:
        yield f"**Needs.** {rule.needs}"
    yield f"**Fix.** {_sentence(rule.fix)} Risk: {rule.risks}."
    if rule.proposes:
        yield f"**Tries.** {_tried(rule)}"
    yield f"**When not.** {_sentence(rule.unless)}"
    yield f"**Source.** {_sentence(rule.source)}"


def _tried(rule: Rule) -> str:
    """Return the knobs, and their kind where a rule is of several."""
    parts = []
    for each in rule.proposes:
        kinds = f" ({', '.join(each.kinds)})" if each.kinds else ""
        parts.append(f"`{each.knob}`{kinds}: {each.value}")
    return f"{'; '.join(parts)}."


def _sentence(words: str) -> str:
    """Return the words as a sentence; a name at its head, `mod_php` or a host, stays as it is."""
    first = words.split(maxsplit=1)[0].rstrip(".,:;")
    is_name = any(mark in first for mark in "._-/")
    return f"{words if is_name else words[0].upper() + words[1:]}."

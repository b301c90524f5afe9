"""What became of the requests to one arm, in words: answers by status, errors by kind."""

from collections.abc import Callable
from typing import Any, NamedTuple

from httpdyno.model import ArmSummary
from httpdyno.report.shared.phrase import NOTHING, oxford


def answers_text(arm: ArmSummary) -> str:
    """Return `5,012 with 200, 4,990 with 503; errors: 4,990 wrong status`; empty if not kept."""
    answers = ", ".join(f"{n:,} with {status}" for status, n in _ranked(arm.statuses))
    errors = errors_text(arm)
    return "; ".join(part for part in (answers, f"errors: {errors}" * bool(errors)) if part)


def errors_text(arm: ArmSummary) -> str:
    """Return `4,990 wrong status, 3 timeout`; empty where all got the right answer."""
    return ", ".join(f"{n:,} {_kind(kind)}" for kind, n in _ranked(arm.errors))


def answers_lines(arms: list[tuple[str, ArmSummary]]) -> list[tuple[str, str]]:
    """Return each arm's name with its answers; one line without a name where all were right."""
    told = [(name, arm) for name, arm in arms if arm.statuses or arm.errors]
    if told and not any(arm.errors for _, arm in told):
        statuses = sorted({status for _, arm in told for status in arm.statuses})
        return [("", f"all answers were right: status {oxford(statuses)}")]
    return [(name, answers_text(arm)) for name, arm in told]


def answers_table(arms: list[tuple[str, ArmSummary]]) -> dict[str, Any] | None:
    """Return the counts of every status and kind of error by arm; None where none is kept."""
    statuses = sorted({status for _, arm in arms for status in arm.statuses})
    kinds = sorted({kind for _, arm in arms for kind in arm.errors})
    if not statuses and not kinds:
        return None
    beside = [each for each in _BESIDE if any(each.of(arm) for _, arm in arms)]
    heads = [f"status {each}" for each in statuses] + [_kind(each) for each in kinds]
    return {
        "head": ["", *heads, *(each.head for each in beside)],
        "rows": [
            [
                name,
                *(_cell(arm.statuses.get(each, 0)) for each in statuses),
                *(_cell(arm.errors.get(each, 0)) for each in kinds),
                *(_cell(each.of(arm)) for each in beside),
            ]
            for name, arm in arms
        ],
        "text_columns": 1,
    }


class _Beside(NamedTuple):
    """A count of an arm's that is none of its answers."""

    head: str
    of: Callable[[ArmSummary], int]


_BESIDE = (
    _Beside("listen queue full", lambda arm: arm.connecting.listen_overflows),
    _Beside("connects sent again", lambda arm: arm.connecting.syn_retransmits),
)


def _ranked(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


def _kind(kind: str) -> str:
    return kind.replace("_", " ")


def _cell(n: int) -> str:
    return f"{n:,}" if n else NOTHING

"""What changes in a person's own files: each with its proof, and what applying it takes. Pure."""

import io
from collections.abc import Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.host.foreign_text import readable
from httpdyno.model import LadderStep, Outcome
from httpdyno.report.shared.interval import bounds_text, interval_ratio_text
from httpdyno.report.study.verdict import of_objective, verdict_badge

_APPLYING = {
    "live": "at once",
    "reload": "by a reload",
    "restart": "by a restart",
    "": "by a restart, to be sure",
}
MOST_LINES = 12
"""Of a difference on a terminal: what to change is read before the table, not after."""
_INDENT = (0, 0, 0, 2)
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def their_lines(outcome: Outcome, *, is_whole: bool = True) -> list[RenderableType]:
    """Return how a site's files change, and how that is applied; empty for other studies.

    Args:
        is_whole: Whether a long difference is told with all its lines.
    """
    if outcome.plan.study.site is None or not outcome.overlay_diff:
        return []
    shown = outcome.overlay_diff
    has_files = bool(patch_text(shown))
    lines: list[RenderableType] = [
        Text(),
        Text("in your files" if has_files else "in how it is started", "bold"),
        Padding(diff_text(shown if is_whole else _brief(shown)), _INDENT),
    ]
    if has_files and is_proven(outcome):
        command = f"httpdyno report {outcome.id} --diff tuned.patch"
        lines += [
            Text.assemble("written by ", (f"`{command}`", "cyan")),
            Text.assemble("applied by ", ("`patch -p1 -d / < tuned.patch`", "cyan")),
        ]
    return lines


def _brief(diff: str) -> str:
    """Return a difference as it is, or where it is long, what changes in it, and of that the first.

    A patch has all of it.
    """
    lines = diff.splitlines()
    if len(lines) <= MOST_LINES:
        return diff
    changed = [line for line in lines if line[:1] in {"+", "-"}]
    shown = changed[:MOST_LINES]
    left_out = len(changed) - len(shown)
    more = [f"… {left_out} lines more with `--verbose`"] if left_out else []
    return "\n".join(shown + more)


def is_proven(outcome: Outcome) -> bool:
    """Tell whether what differs is to be applied: of two that were compared, b came out better."""
    return outcome.plan.compare is None or outcome.configuration != outcome.plan.compare[0]


def patch_text(diff: str) -> str:
    """Return what of a difference is of files: not command lines, variables, the kernel's settings.

    Files of theirs are named by whole paths; nothing else begins with a `/`. `kept_bytes` makes
    what `patch` takes of it.
    """
    kept: list[str] = []
    is_file = False
    lines = list(io.StringIO(diff, newline="\n"))
    for line, following in pairwise((*lines, "")):
        if line.startswith("--- ") and following.startswith("+++ "):
            is_file = "/" in {line[4:5], following[4:5]}
        if is_file:
            kept.append(line)
    return "".join(kept)


def proven_cells(outcome: Outcome, knob: str) -> tuple[str, ...]:
    """Return what stands beside a change: its proof, and what applying it takes; none elsewhere."""
    if outcome.plan.study.site is None:
        return ()
    # A figure stays in one line with its interval.
    proof = proof_text(outcome, knob).replace(" × (", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}(")
    proof = proof.replace(" … ", "\N{NO-BREAK SPACE}…\N{NO-BREAK SPACE}")
    return proof, applying_text(outcome, knob)


def proof_text(outcome: Outcome, knob: str) -> str:
    """Return `1.45 × (1.31 … 1.6) better`: what the step that kept the change came out with.

    Where it was changed several times, each step has its own ratio, over what was kept before it.
    """
    steps = _kept_steps(outcome.steps, knob)
    return ", then ".join(map(_step_text, steps)) or "not tried alone"


def _step_text(step: LadderStep) -> str:
    interval = of_objective(step.comparison)
    ratio = f"{interval_ratio_text(interval)} × ({bounds_text(interval)})"
    return f"{ratio} {verdict_badge(step.comparison)}"


def applying_text(outcome: Outcome, knob: str) -> str:
    """Return what it takes to apply a change to the server that runs."""
    return _APPLYING[outcome.plan.study.knob(knob).cost]


def diff_text(diff: str) -> RenderableType:
    """Return a unified diff, coloured, whose lines of context are cut where the terminal ends.

    What is changed is whole, though it may take several lines; a patch has everything whole.
    """
    return Group(*map(_diff_line, readable(diff).splitlines()))


def _diff_line(line: str) -> Text:
    is_name = line.startswith(("+++", "---"))
    style = "bold" if is_name else _STYLES.get(line[:1], "")
    if line.startswith(" "):
        return Text(line, style, no_wrap=True, overflow="ellipsis")
    return Text(line, style)


def _kept_steps(steps: Sequence[LadderStep], knob: str) -> list[LadderStep]:
    return [step for step in steps if step.kept and (step.knob == knob or knob in step.changed)]

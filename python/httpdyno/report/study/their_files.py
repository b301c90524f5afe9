"""What changes in a person's own files: each with its proof, and what applying it takes. Pure."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.model import LadderStep, Outcome
from httpdyno.report.study.verdict_text import (
    bounds_text,
    interval_ratio_text,
    of_objective,
    verdict_badge,
)

_APPLYING = {
    "live": "at once",
    "reload": "by a reload",
    "restart": "by a restart",
    "": "by a restart, to be sure",
}
_INDENT = (0, 0, 0, 2)
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def their_lines(outcome: Outcome) -> list[RenderableType]:
    """Return how a site's files change, and how that is applied; empty for other studies."""
    if outcome.plan.study.site is None or not outcome.overlay_diff:
        return []
    command = f"httpdyno report {outcome.id} --diff tuned.patch"
    return [
        Text(),
        Text("in your files", "bold"),
        Padding(diff_text(outcome.overlay_diff), _INDENT),
        Text.assemble("written by ", (f"`{command}`", "cyan")),
        Text.assemble("applied by ", ("`patch -p1 -d / < tuned.patch`", "cyan")),
    ]


def proven_cells(outcome: Outcome, knob: str) -> tuple[str, ...]:
    """Return what stands beside a change: its proof, and what applying it takes; none elsewhere."""
    if outcome.plan.study.site is None:
        return ()
    return proof_text(outcome, knob), applying_text(outcome, knob)


def proof_text(outcome: Outcome, knob: str) -> str:
    """Return `1.45 × (1.31 … 1.6) better`: what the step that kept the change came out with."""
    step = _kept_step(outcome.steps, knob)
    if step is None:
        return "not tried alone"
    interval = of_objective(step.comparison)
    ratio = f"{interval_ratio_text(interval)} × ({bounds_text(interval)})"
    return f"{ratio} {verdict_badge(step.comparison)}"


def applying_text(outcome: Outcome, knob: str) -> str:
    """Return what it takes to apply a change to the server that runs."""
    return _APPLYING[outcome.plan.study.knob(knob).cost]


def diff_text(diff: str) -> Text:
    """Return a unified diff, coloured."""
    text = Text()
    for line in diff.splitlines(keepends=True):
        is_name = line.startswith(("+++", "---"))
        text.append(line, "bold" if is_name else _STYLES.get(line[:1], ""))
    text.rstrip()
    return text


def _kept_step(steps: Sequence[LadderStep], knob: str) -> LadderStep | None:
    def changes(step: LadderStep) -> bool:
        return step.kept and (step.knob == knob or knob in step.changed)

    return next((step for step in reversed(steps) if changes(step)), None)

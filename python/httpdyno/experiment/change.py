"""What a step changes, as a result tells it."""

from typing import Any

from httpdyno.model import Configuration, Step, Study


def change_of(
    study: Study, step: Step, arms: tuple[Configuration, Configuration]
) -> dict[str, Any]:
    """Return what a step changes from one arm to the other, as keyword arguments of `LadderStep`.

    A candidate may be one that a command line names, which the study knows nothing of.
    """
    changes = arms[0].changes(arms[1])
    if step.candidate:
        titles = {each.name: each.title for each in study.candidates}
        title = titles.get(step.candidate, "")
        return {"candidate": step.candidate, "title": title, "changed": changes}
    before, after = changes[step.knob]
    return {
        "knob": step.knob,
        "title": study.knob(step.knob).title,
        "before": before,
        "after": after,
    }

"""`limits` of a server in a study file."""

from collections.abc import Iterable

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.model.server_limits import ServerLimits
from httpdyno.model.study import Method
from httpdyno.servers.limits.control_group import CONTROLLERS
from httpdyno.servers.limits.limit_group import limit_values
from httpdyno.study.command import Wrong
from httpdyno.units import duration_text

_KNOB = "{"
_PERIODS = 10
"""Of a CPU limit in a window: where it begins and ends in one of them is a tenth of a period's time
then, and that is for each window another one."""


def check_limits(limits: ServerLimits, key: str, wrong: Wrong, *, has_knobs: bool) -> None:
    """Refuse limits that make no sense.

    Args:
        limits: As they are written.
        key: `server.limits`.
        wrong: Makes complaints.
        has_knobs: Whether knobs may be in them: what those are is known of each configuration
            alone.

    Raises:
        StudyFileError: With the key.
    """
    none = structs.replace(limits, memory="", cpu="")
    _check({f"{key}.cpu_period": duration_text(limits.cpu_period_s)}, none, wrong)
    for name in CONTROLLERS:
        text = getattr(limits, name)
        if _KNOB not in text:
            _check({f"{key}.{name}": text}, structs.replace(none, **{name: text}), wrong)
        elif not has_knobs:
            raise wrong(f"{key}.{name}", text, "no knob: those of a site are what its files say")


def _check(written: dict[str, str], limits: ServerLimits, wrong: Wrong) -> None:
    try:
        limit_values(limits)
    except UsageError as error:
        [(key, text)] = written.items()
        raise wrong(key, text, error.hint) from error


def with_whole_periods(method: Method, limits: Iterable[ServerLimits]) -> Method:
    """Return the method with windows that hold whole periods of every CPU limit.

    A server that rests has all of its CPU seconds when its window begins: so the lead-in is a whole
    period, and a window ten, a phase's own one too. What is asked of fresh servers has no lead-in,
    and keeps none.
    """
    period_s = max((each.cpu_period_s for each in limits if each.cpu), default=0.0)
    whole_s = _PERIODS * period_s
    return structs.replace(
        method,
        window_s=max(method.window_s, whole_s),
        phases=tuple(
            phase
            if phase.window_s is None
            else structs.replace(phase, window_s=max(phase.window_s, whole_s))
            for phase in method.phases
        ),
        lead_in_s=max(method.lead_in_s, period_s) if method.lead_in_s > 0 else method.lead_in_s,
    )

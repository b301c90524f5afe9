"""One start of a comparison's arms: its windows, and what was seen of each server beside them."""

from typing import Literal

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.count import Count
from httpdyno.model.header_words import HeaderWords
from httpdyno.model.knob import Configuration
from httpdyno.model.log import LogLines
from httpdyno.model.look import Look
from httpdyno.model.measurement import Measurement
from httpdyno.model.site import ValueEvidence
from httpdyno.model.system_calls import SystemCalls
from httpdyno.model.telemetry import Telemetry
from httpdyno.reason import Reason

TrialStatus = Literal["complete", "refused", "crashed", "hung", "unstable", "unlike", "infeasible"]


class Effective(Record, frozen=True):
    """The configuration that a running server says it has."""

    values: dict[str, str] = msgspec.field(default_factory=dict)
    asked: dict[str, str] = msgspec.field(default_factory=dict)
    """What was asked of the same names, as the server would write it."""
    sources: tuple[Reason, ...] = ()
    """What says so."""
    evidence: dict[str, ValueEvidence] = msgspec.field(default_factory=dict)
    """How each value is known, where that is told apart: said by the server, seen from outside, or
    read from what it was started with."""
    unverified: tuple[str, ...] = ()
    """Knobs of the application that nobody said are in force: there is no `effective_path`."""


class WindowRecord(Record, frozen=True):
    """One stored window: which arm of which start, and what was seen."""

    comparison: int
    start: int
    block: int
    arm: int
    """Index into the comparison's arms."""
    measurement: Measurement
    telemetry: Telemetry


class StartRecord(Record, frozen=True):
    """One start of all of a comparison's arms, side by side, with its windows."""

    comparison: int
    start: int
    began_at: str
    """UTC, ISO 8601."""
    duration_s: float
    statuses: tuple[TrialStatus, ...]
    """How each arm came out; (n_arms,), none as long as it is not complete."""
    stage: str = ""
    """What it was measured for: `calibration`, `step 2 of 5`, `final`."""
    is_complete: bool = True
    """False while it is measured, and where nobody finished it."""
    configurations: tuple[Configuration, ...] = ()
    """What was measured; (n_arms,)."""
    details: tuple[tuple[Reason, ...], ...] = ()
    """Why it did not complete; (n_arms,)."""
    ready_s: tuple[float, ...] = ()
    """For how long each was waited for, what is read back then included; (n_arms,)."""
    effective: tuple[Effective, ...] = ()
    looks: tuple[Look | None, ...] = ()
    """What each arm was seen to do under load after its windows; (n_arms,), or empty where nobody
    looked: a configuration is looked at in one start of a run."""
    looked_s: float = 0.0
    """What of its duration that took, with the turn of phases in which a comparison's first start
    counts the words of a header."""
    system_calls: tuple[SystemCalls | None, ...] = ()
    """Those of each arm's answers, counted after its windows; (n_arms,), or empty where the
    objective has nothing of them."""
    header_words: tuple[HeaderWords | None, ...] = ()
    """What each arm's answers said in the header that the study counts, after its windows;
    (n_arms,), or empty where it counts none. With phases one start of a comparison has them, or
    each where the objective has something of them."""
    counts: dict[str, tuple[Count | None, ...]] = msgspec.field(default_factory=dict)
    """What was counted of each arm under a load after its windows, by the metric's name; (n_arms,)
    each, and only what the objective has to do with."""
    counted_s: float = 0.0
    """What of its duration these three took; another start takes it again."""
    came_up_s: tuple[float | None, ...] = ()
    """From when each arm was spawned until it was ready, while no other one came up; (n_arms,),
    None where that is not told, or empty where the objective has nothing of it."""
    log_lines: tuple[LogLines | None, ...] = ()
    """What came into each arm's error logs from when it was ready to the end of the load;
    (n_arms,), or empty where none can be read."""
    uncompared: tuple[Reason, ...] = ()
    """What of the answers was not compared: one configuration answers it otherwise each time."""
    varied: tuple[Reason, ...] = ()
    """In which words of what was compared its answers differ."""
    tried: tuple[str | Reason, ...] = ()
    """What private copies tried to reach outside, and were refused: `unix:/run/db.sock`."""
    windows: tuple[WindowRecord, ...] = ()

    @property
    def measuring_s(self) -> float:
        """What it took without these: as another start of the same arms takes."""
        return self.duration_s - self.looked_s

    @property
    def one_by_one_s(self) -> float:
        """What of it no other start shares though it was up beside: counts, and coming up alone."""
        return self.counted_s + sum(each or 0.0 for each in self.came_up_s)

"""The frozen domain types: stored, printed as JSON and exported as JSON Schema from here."""

from httpdyno.model.base import Level, Record
from httpdyno.model.knob import Configuration, Knob, KnobInfo, level_text
from httpdyno.model.measurement import HistogramData, HostFacts, Measurement, Telemetry
from httpdyno.model.result import (
    ArmSummary,
    Caveat,
    Comparison,
    Effective,
    LadderStep,
    Outcome,
    RatioInterval,
    StartRecord,
    Sweep,
    SweepPoint,
    TrialStatus,
    Verdict,
    WindowRecord,
)
from httpdyno.model.run import RunStatus, RunSummary
from httpdyno.model.study import Method, Plan, ServerSpec, Step, Study, Template
from httpdyno.model.workload import Objective, RequestSpec, Workload

__all__ = [
    "ArmSummary",
    "Caveat",
    "Comparison",
    "Configuration",
    "Effective",
    "HistogramData",
    "HostFacts",
    "Knob",
    "KnobInfo",
    "LadderStep",
    "Level",
    "Measurement",
    "Method",
    "Objective",
    "Outcome",
    "Plan",
    "RatioInterval",
    "Record",
    "RequestSpec",
    "RunStatus",
    "RunSummary",
    "ServerSpec",
    "StartRecord",
    "Step",
    "Study",
    "Sweep",
    "SweepPoint",
    "Telemetry",
    "Template",
    "TrialStatus",
    "Verdict",
    "WindowRecord",
    "Workload",
    "level_text",
]

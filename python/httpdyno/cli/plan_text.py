"""What a plan will do, in lines that people read before it is run."""

from httpdyno.experiment.design.plan import MAX_STARTS
from httpdyno.experiment.trial.afterwards import watches_of
from httpdyno.metrics import sources
from httpdyno.model import (
    Arrival,
    Closed,
    Configuration,
    Constant,
    Method,
    Phase,
    Plan,
    Poisson,
    Replay,
    ServerSpec,
    Sessions,
    Stages,
    Study,
    level_text,
)
from httpdyno.model.workload import rate_at_most_per_s
from httpdyno.units import format_duration


def phases_words(method: Method) -> str:
    """Return what a turn goes through, for people: each phase's name and what it does."""
    return "; ".join(_phase_words(method, phase) for phase in method.phases)


def _phase_words(method: Method, phase: Phase) -> str:
    """Return what a phase does, such as `cold: runs `rm …`, then 500 ms of load`."""
    command = "" if phase.command is None else f"`{' '.join(phase.command.run)}`"
    before = [
        f"runs {command}" if command and phase.at_s is None else "",
        f"a pause of {format_duration(phase.pause_s)}" if phase.pause_s > 0 else "",
    ]
    load = f"{format_duration(method.window_of(phase))} of load"
    if phase.n_requests:
        load = f"{phase.n_requests} requests, in {load} at the most"
    if phase.rate_per_s is not None:
        load += f" at {phase.rate_per_s:g}/s"
    if phase.at_s is not None:
        load += f", {command} {format_duration(phase.at_s)} after its beginning"
    return f"{phase.name}: {', then '.join(filter(None, (*before, load)))}"


def servers_text(spec: ServerSpec) -> str:
    """Return which servers there are: their adapters, with companions' names."""
    parts = [spec.adapter]
    for side, words in (("front", "in front of it"), ("behind", "behind it")):
        names = [f"{c.name} ({c.adapter})" for c in spec.companions if c.side == side]
        parts += [f"{words} {', '.join(names)}"] if names else []
    if spec.network is not None:
        resolver = " with a resolver" if spec.network.resolver is not None else ""
        parts.append(f"in a network of its own{resolver}")
    return "; ".join(parts)


def plan_lines(plan: Plan) -> list[str]:
    """Return what the plan will do, a line each, for people."""
    study, method = plan.study, plan.study.method
    lines = [
        f"study     {study.name}: {study.title}",
        *_target_lines(study),
        f"decides   {_objective_line(study)}, margin ±{study.objective.margin_ratio:.1%}, "
        f"confidence {study.objective.confidence:.0%}{_together(study)} at every look",
        *_window_lines(study),
        f"starts    at least {method.min_starts} of each arm before anything is claimed"
        f"{_starts_note(study)}",
        f"budget    {_budget_text(study)}, seed {plan.seed}",
    ]
    if plan.compare:
        return [
            *lines,
            f"a         {plan.compare[0].label()}",
            f"b         {plan.compare[1].label()}",
        ]
    if plan.reference is not None:
        return [*lines, *_each_line(plan, plan.reference)]
    lines.append(f"start     {study.start_configuration().label()}")
    if method.kind == "sweep":
        levels = ", ".join(level_text(step.to) for step in plan.steps)
        return [*lines, f"sweep     {method.knob}: {levels}"]
    if method.kind == "factorial":
        n_arms = 2 ** len(plan.steps)
        return [
            *lines,
            f"knobs     {', '.join(step.label for step in plan.steps)}: all {n_arms} combinations",
        ]
    return lines + [
        f"step {number:<4} {step.whole_label if step.candidate else step.label}"
        for number, step in enumerate(plan.steps, 1)
    ]


def _target_lines(study: Study) -> list[str]:
    if study.fragments is None:
        return [
            f"server    {servers_text(study.server)}",
            *([f"limits    {study.limit_words}"] if study.limits else []),
            f"workload  {_workload_line(study)}",
        ]
    command = " ".join(study.server.command)
    return [f"program   {command}", f"taken off {study.fragments.empty}, the empty body"]


def _each_line(plan: Plan, reference: Configuration) -> list[str]:
    """Return what is compared with the same reference, and with which confidence."""
    whole = plan.study.objective.confidence
    first = (
        f"each      with {plan.objective.confidence:.2%} confidence, so that all "
        f"{len(plan.steps)} verdicts have {whole:.0%} together"
    )
    name = "a" if plan.command == "compare" else "start"
    rows = [
        f"{step.candidate:<9} {Configuration(values=step.values).label()}"
        if step.candidate
        else f"row       {step.label}"
        for step in plan.steps
    ]
    return [first, f"{name:<9} {reference.label()}", *rows]


def _starts_note(study: Study) -> str:
    method = study.method
    is_one_by_one = method.side_by_side == 1 or method.is_fresh or method.is_all_at_once
    beside = "" if is_one_by_one else f"; up to {method.side_by_side} side by side"
    of = sources(study.objective.named)
    counted = ["system calls"] * ("system calls" in of)
    counted += [each.label for each in watches_of(study.objective).values()]
    counts = "".join(f"; each counts {what} after its windows" for what in counted)
    if "coming up" in of:
        counts += "; servers come up one after the other"
    header = study.counted_header
    words = f"; what answers say in `{header}` is counted after windows" if header else ""
    if words and method.phases and "header words" in of:
        words += ", in a turn more of each start"
    return f"{beside}{counts}{words}"


def _window_lines(study: Study) -> list[str]:
    method = study.method
    most = f"up to {method.blocks_per_start} per arm and start"
    if study.fragments is not None:
        return [f"batches   {format_duration(method.window_s)} of calls each, {most}"]
    if not method.phases:
        lead_in = f"after {format_duration(method.lead_in_s)} of lead-in"
        each = f"windows   {format_duration(method.window_s)} each, {lead_in}"
        return [*_warm_up_lines(method), f"{each}, {most}{_windows_note(study)}"]
    return [
        *_warm_up_lines(method),
        f"phases    {phases_words(method)}",
        f"turns     {most}, each through all phases; `{method.decides}` decides",
    ]


def _warm_up_lines(method: Method) -> list[str]:
    if not method.warm_up_requests:
        return []
    limit = f"within {format_duration(method.warm_up_s)}"
    return [f"warm-up   {method.warm_up_requests:,} answers of each arm in a start, {limit}"]


def _windows_note(study: Study) -> str:
    method = study.method
    if study.workload.is_open_loop or method.is_fresh:
        return ""
    return "; fewer and longer where latencies demand it"


def _objective_line(study: Study) -> str:
    objective = study.objective
    then = f", then {objective.tie_breaker}" if objective.tie_breaker else ""
    beside = f" (reported beside it: {', '.join(objective.beside)})" if objective.beside else ""
    return f"{objective.metric}{then}{beside}"


def _together(study: Study) -> str:
    """Return of what the confidence is, where several metrics share the risk."""
    if study.objective.also:
        return " of all together"
    return " of both together" if study.objective.second else ""


def _workload_line(study: Study) -> str:
    load = study.load_of(study.start_configuration())
    alive = "keep-alive" if load.keep_alive else "a connection per request"
    paths = ", ".join(f"{request.method} {request.path}" for request in load.asked)
    if load.first:
        first = ", ".join(f"{request.method} {request.path}" for request in load.first)
        paths = f"{paths}; each user first does {first}"
    return f"{load.connections} connections, {_arrival_text(load.arrival)}, {alive}: {paths}"


def _arrival_text(arrival: Arrival) -> str:
    match arrival:
        case Closed():
            return "closed loop"
        case Constant():
            return f"{arrival.rate_per_s:g}/s open loop"
        case Poisson():
            return f"{arrival.rate_per_s:g}/s open loop (Poisson)"
        case Stages():
            return f"stages up to {rate_at_most_per_s(arrival):g}/s"
        case Sessions():
            return f"sessions at up to {rate_at_most_per_s(arrival):g}/s"
        case Replay():
            return f"replay of {arrival.log}"


def _budget_text(study: Study) -> str:
    if study.is_until_decided:
        return f"until decided, or out of reach of {MAX_STARTS} starts"
    return format_duration(study.budget_s)

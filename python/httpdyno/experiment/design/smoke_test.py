"""What must hold before a run, and one start that shows whether it does.

What can be known before any server is started: that the study can run, and asks something.

Everything is rendered once, for the start and for every level of every knob. A level that changes
nothing of what the server reads would be measured against an identical server, for minutes, and
come out as "no difference"; so it is refused by name.

One start of a study's server as it is to begin with, each of its requests asked once.

It claims nothing: it says whether the study can run, and what that will cost.
"""

import math
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from msgspec import structs

from httpdyno.errors import (
    AdapterError,
    HttpdynoError,
    NotRunError,
    StudyFileError,
    UsageError,
)
from httpdyno.experiment.answer.ask import MOST_OF_LOG, Question, Visitor, asked_requests
from httpdyno.experiment.design.plan import comparisons_ahead
from httpdyno.experiment.trial.afterwards import (
    LEAST_COUNT_S,
    LooksToTake,
    header_cost,
    header_turns_s,
    watches_of,
)
from httpdyno.experiment.trial.arm import READY_TIMEOUT_S
from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.budget import (
    COMING_UP_S,
    N_CALIBRATION_STARTS,
    n_at_once,
    starts_ahead,
    too_short,
)
from httpdyno.experiment.trial.server_bench import bench_of
from httpdyno.host.foreign_files import folders_below, is_there
from httpdyno.load.access_log import read_access_log
from httpdyno.load.check import check_workload
from httpdyno.load.plan import own_core_plan
from httpdyno.metrics import sources
from httpdyno.model import (
    Configuration,
    Effective,
    Level,
    Plan,
    Replay,
    RequestSpec,
    ServerSpec,
    StartRecord,
    Study,
    level_text,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.render import Variables, inside, rendered_environment, rendered_prepare
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run_data import RunData
from httpdyno.servers.stack.stack import Stack
from httpdyno.study.complaint import nearest
from httpdyno.units import format_bytes, format_duration

_USER = "USER"
_MOST_FILES = 100_000
_MOST_BYTES = 2 << 30


def rehearse(plan: Plan, adapter: Stack) -> tuple[Reason, ...]:
    """Refuse a plan that cannot come to anything; return what could not be looked at.

    Raises:
        StudyFileError: A knob, a level or a setting does nothing, a file is not there, or
            something cannot be rendered.
        UsageError: The budget is too short for any claim, or the workload makes no sense.
    """
    unknown = _looked_at(plan, adapter)
    # Last: what else is wrong no budget mends.
    check_budget(plan)
    return unknown


def _looked_at(plan: Plan, adapter: Stack) -> tuple[Reason, ...]:
    study = plan.study
    _check_load(study)
    _check_cores(study)
    unknown: list[Reason] = []
    with _noted(because("experiment.whether_it_runs"), unknown):
        if missing := adapter.missing(study.server):
            return (because("experiment.looked_at_nothing", missing=missing),)
    _check_files(study)
    _check_variables(study)
    rehearsal = _Rehearsal(study, adapter)
    with _noted(because("experiment.its_settings"), unknown):
        rehearsal.check_settings()
    with _noted(because("experiment.its_application"), unknown):
        rehearsal.check_application()
    with _noted(because("experiment.whether_levels_act"), unknown):
        _check_steps(plan, rehearsal)
    return tuple(unknown)


@contextmanager
def _noted(what: Reason, unknown: list[Reason]) -> Iterator[None]:
    """Add to what is unknown where something cannot be known while only reading."""
    try:
        yield
    except NotRunError as error:
        unknown.append(because("experiment.not_looked_at", what=what, words=error.reason))


def _check_steps(plan: Plan, rehearsal: "_Rehearsal") -> None:
    if plan.compare is not None:
        rehearsal.check_comparison(*plan.compare)
        return
    if plan.reference is not None:
        for step in plan.steps:
            rehearsal.check_comparison(plan.reference, plan.reference.with_values(step.values))
    if plan.reference is None or plan.command == "tune":
        rehearsal.check_knobs()
        rehearsal.check_candidates()


def least_s(plan: Plan) -> float:
    """Return the time of windows and looks alone that the first claim needs.

    A window in each start, with a count of system calls where the objective has to do with them
    and of a header's words where the study counts them, and a look at each configuration. Of
    several candidates each has a claim of its own.
    """
    claims = comparisons_ahead(plan)
    if plan.reference is None:
        claims = claims[:1]
    n_arms = sum(map(len, claims))
    # What a number of answers takes is not known before.
    warm_up_s = 0.0 if plan.study.method.warm_up_requests else plan.study.method.warm_up_s
    window_s = plan.study.method.turn_s + warm_up_s + _counts_s(plan.study)
    return plan.study.method.min_starts * n_arms * window_s + _looks_s(plan.study, claims)


def _counts_s(study: Study) -> float:
    """Return what is counted in each start after the windows of each arm."""
    count_s = LEAST_COUNT_S if "system calls" in sources(study.objective.named) else 0.0
    count_s += sum(each.load_s for each in watches_of(study.objective).values())
    return count_s + header_cost(study).each_s


def _looks_s(study: Study, claims: Sequence[tuple[Configuration, ...]]) -> float:
    has_server = study.fragments is None
    looks_s = LooksToTake(can_count=False).expected_s(claims) if has_server else 0.0
    return looks_s + header_turns_s(study, claims)


def check_budget(plan: Plan) -> None:
    """Refuse a budget that does not even hold the windows of the first claim.

    Raises:
        UsageError: With one that is enough.
    """
    needed_s, budget_s = least_s(plan), plan.study.budget_s
    if budget_s >= needed_s:
        return
    study, method, claims = plan.study, plan.study.method, comparisons_ahead(plan)
    is_ladder = plan.compare is None and plan.reference is None and not method.is_all_at_once
    # A ladder's starts have as few blocks as its time allows, but for the calibration's.
    n_blocks = min(2, method.blocks_per_start) if is_ladder else method.blocks_per_start
    arm_s = n_blocks * method.turn_s + method.warm_up_s + _counts_s(study) + COMING_UP_S
    raise too_short(
        budget_s,
        f"one step takes {method.min_starts} starts, and their windows alone, with a look at each "
        f"server, {format_duration(needed_s)}",
        starts_ahead(plan).needed(len(claims[0]) * arm_s, _looks_s(study, claims)),
    )


def _check_load(study: Study) -> None:
    try:
        check_workload(study.workload)
        if isinstance(study.workload.arrival, Replay):
            read_access_log(study.workload.arrival)
    except UsageError as error:
        raise UsageError(f"the workload of study {study.name}: {error}", hint=error.hint) from error


def _check_cores(study: Study) -> None:
    if study.method.cores == "apart" and not own_core_plan(cores="apart").client:
        raise UsageError(
            f"study {study.name} wants load client and server on cores of their own "
            '(`method.cores = "apart"`), and httpdyno may use one core only here',
            hint="let it use two cores, or leave `method.cores` out",
        )


def _check_files(study: Study) -> None:
    """Refuse what cannot be copied before each start: nothing, a FIFO, a device, a whole disk."""
    for server in (study.server, *study.server.companions):
        _check_files_of(study, server)


def _check_files_of(study: Study, server: ServerSpec) -> None:
    for entry in server.files:
        path = Path(study.folder) / entry.source
        if not is_there(path):
            raise StudyFileError(
                f"study {study.name}: server.files names `{entry.source}`, which is not there",
                hint="Install the package it comes from, or correct its path.",
            )
        n_bytes = 0
        for number, each in enumerate(_files(path, entry.exclude)):
            info = each.stat() if is_there(each) else each.lstat()
            if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
                raise StudyFileError(
                    f"study {study.name}: server.files names `{entry.source}`, but `{each}` is not "
                    "a regular file",
                    hint="Name files and folders of files.",
                )
            n_bytes += info.st_size
            if number >= _MOST_FILES or n_bytes > _MOST_BYTES:
                raise StudyFileError(
                    f"study {study.name}: server.files names `{entry.source}`, which is more than "
                    f"{_MOST_FILES:,} files or {format_bytes(_MOST_BYTES)} to copy for each start",
                    hint="Name just the folder of the application.",
                )


def _files(path: Path, excluded: tuple[str, ...]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    left_out = shutil.ignore_patterns(*excluded)
    for folder, folders, names in folders_below(path):
        out = left_out(folder, [*folders, *names])
        folders[:] = [name for name in folders if name not in out]
        yield from (Path(folder) / name for name in names if name not in out)


def _check_variables(study: Study) -> None:
    """Refuse a variable that the server is to get from here and that is not set here."""
    servers = (study.server, *study.server.companions)
    for name in (name for server in servers for name in server.pass_environment):
        if name not in os.environ:
            raise UsageError(
                f"study {study.name}: server.pass_environment names `{name}`, which is not set",
                hint=f"Set it in this shell: `export {name}=…`.",
            )


class _Rehearsal:
    """Renders configurations of one study, each once."""

    def __init__(self, study: Study, adapter: Stack) -> None:
        self._study = study
        self._adapter = adapter
        self._known: dict[str, Mapping[str, str]] = {}

    def check_settings(self) -> None:
        """Refuse a setting that neither the adapter nor any template reads."""
        study, known = self._study, self._adapter.settings()
        for name in study.server.settings:
            if name not in known and not any(
                self._is_setting_read(name, each) for each in self._contexts("")
            ):
                server = study.server.adapter
                raise StudyFileError(
                    f"study {study.name}: server.settings.{name} does nothing: {server} has no "
                    f"such setting, and no template uses {{{{ setting.{name} }}}}",
                    hint=f"`{name}` is a knob of {server}: give it a [[knobs]] table"
                    if name in self._adapter.knobs()
                    else nearest(name, known) or f"settings are {', '.join(sorted(known))}",
                )

    def check_application(self) -> None:
        """Refuse what the adapter knows cannot start."""
        study, start = self._study, self._study.start_configuration()
        self._rendered(start)
        try:
            self._adapter.check(study.server, Path(study.folder), start)
        except NotRunError:
            raise
        except HttpdynoError as error:
            amid = error.within(
                f"study {study.name}", hint="Compare [server] and its settings with the files."
            )
            raise StudyFileError(**amid) from error

    def check_comparison(self, a: Configuration, b: Configuration) -> None:
        """Refuse two configurations that differ in words only."""
        if a != b and self._rendered(a) == self._rendered(b):
            changes = ", ".join(
                f"{name} {level_text(old)} → {level_text(new)}"
                for name, (old, new) in a.changes(b).items()
            )
            raise self._without_effect(f"{changes} changes nothing", next(iter(a.changes(b))))

    def check_knobs(self) -> None:
        """Refuse a level that renders as the start does, or as another level."""
        for knob in self._study.knobs:
            levels = dict.fromkeys((knob.start, *knob.levels))
            for number, level in enumerate(levels):
                for other in list(levels)[:number]:
                    self._check_pair(knob.name, other, level)

    def check_candidates(self) -> None:
        """Refuse a candidate that changes nothing, or with one of its values does nothing."""
        start = self._study.start_configuration()
        for candidate in self._study.candidates:
            whole = start.with_values(candidate.values)
            for name, value in candidate.values.items():
                without = whole.replaced(name, start.values[name])
                if value != start.values[name] and self._rendered(without) == self._rendered(whole):
                    raise self._without_effect(
                        f"{name}={level_text(value)} of candidate {candidate.name} does nothing",
                        name,
                    )

    def _check_pair(self, name: str, one: Level, other: Level) -> None:
        for context in self._contexts(name):
            if self._rendered(context.replaced(name, one)) != self._rendered(
                context.replaced(name, other)
            ):
                return
        raise self._without_effect(
            f"{level_text(one)} and {level_text(other)} of knob {name} render the same", name
        )

    def _contexts(self, name: str) -> Iterator[Configuration]:
        """Yield the start, and what a ladder may have made of it: one knob may need another."""
        start = self._study.start_configuration()
        yield start
        others = [knob for knob in self._study.knobs if knob.name != name and knob.levels]
        for candidate in self._study.candidates:
            yield start.with_values(candidate.values)
        for knob in others:
            for level in knob.levels:
                yield start.replaced(knob.name, level)
        last = {knob.name: knob.levels[-1] for knob in others}
        yield Configuration(values={**start.values, **last})

    def _without_effect(self, what: str, name: str) -> StudyFileError:
        study, server = self._study, self._study.server.adapter
        known = self._adapter.knobs()
        if any(knob.name == name and knob.of == "load" for knob in study.knobs):
            return StudyFileError(
                f"study {study.name}: {what}: the load would be the same", hint="leave one out"
            )
        return StudyFileError(
            f"study {study.name}: {what}: the server would be the same",
            hint=f"{server} writes them the same way; leave one out"
            if name in known
            else nearest(name, known)
            or f"use {{{{ knob.{name} }}}} in the base, a template or an environment variable; "
            f"knobs of {server} itself: {', '.join(sorted(known))}",
        )

    def _is_setting_read(self, name: str, start: Configuration) -> bool:
        settings = {key: value for key, value in self._study.server.settings.items() if key != name}
        without = structs.replace(self._study.server, settings=settings)
        try:
            return self._everything(without, start) != self._rendered(start)
        except AdapterError:
            return True  # a template that is strict about its names uses it

    def _rendered(self, configuration: Configuration) -> Mapping[str, str]:
        key = repr(configuration.values)  # in which `1` and `True` are two
        found = self._known.get(key)
        if found is None:
            try:
                found = self._everything(self._study.server, configuration)
            except NotRunError:
                raise
            except HttpdynoError as error:
                # Nothing was looked at but the study: what cannot be rendered is wrong in there.
                what = f"study {self._study.name} with {configuration.label()}"
                raise StudyFileError(**error.within(what)) from error
            self._known[key] = found
        return found

    def _everything(self, spec: ServerSpec, configuration: Configuration) -> Mapping[str, str]:
        """Return all that a server gets, under names that tell what each is."""
        folder = Path(self._study.folder)
        load = self._study.load_of(configuration)
        configuration = self._study.of_server(configuration)
        rendered = self._adapter.render(spec, folder, configuration)
        variables = Variables.placeholders(spec, configuration, server_user=_USER)
        texts = {f"file {name}": text for name, text in rendered.files.items()}
        # A knob of a site may be a variable, of which the study itself says nothing.
        texts |= {f"variable {name}": text for name, text in rendered.environment.items()}
        for name, text in rendered_environment(spec, variables).items():
            texts[f"variable {name}"] = text
            if "\0" in text:
                raise AdapterError(f"`environment.{name}` holds a NUL, which no variable can")
        for number, part in enumerate(rendered_prepare(spec, variables)):
            texts[f"prepare {number}"] = part
        for entry in spec.files:
            target: PurePosixPath = inside(entry.to, variables)
            texts[f"copy {entry.source}"] = str(target)
        if load != self._study.workload:
            texts["load"] = repr(load)
        return texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What came of one request."""

    request: str
    """`GET /list`."""
    expected: Reason
    """The right answer: its status, or that any will do, with its length where that is known."""
    status: int
    """0 where there was no answer."""
    why: Reason | None
    """Why there was none; None where there was one."""
    duration_s: float
    n_bytes: int
    is_right: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OneStart:
    """What one start showed."""

    version: str
    ready_s: float
    """From the start on, with what prepares it."""
    effective: Effective
    answers: tuple[Answered, ...]
    n_left_out: int = 0
    """Requests of a replayed log that were not asked."""
    tried: tuple[str | Reason, ...] = ()
    """What a private copy tried to reach outside, and was refused."""
    prepare_s: float = 0.0
    """What of `ready_s` went into a site's `prepare`; of other servers it is not told apart."""


def one_start(adapter: Stack, study: Study) -> OneStart:
    """Start the server once, ask each request once, end it.

    Raises:
        AdapterError: It cannot run here, or did not come up; with its own words.
    """
    version = adapter.version(study.server, Path(study.folder))
    load = study.load_of(study.start_configuration())
    requests = asked_requests(load)
    with one_server(adapter, study, study.start_configuration()) as up:
        running = up.running
        visitor = Visitor(running=running, workload=load)
        answers = tuple(_answered(visitor, each) for each in requests[:MOST_OF_LOG])
        return OneStart(
            version=version,
            ready_s=up.ready_s,
            effective=up.effective,
            answers=answers,
            tried=running.tried(),
            prepare_s=running.prepare_s,
            n_left_out=max(0, len(requests) - MOST_OF_LOG),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Up:
    """A server that is up, alone."""

    running: Running
    effective: Effective
    ready_s: float


@contextmanager
def one_server(adapter: Stack, study: Study, configuration: Configuration) -> Iterator[Up]:
    """Start a study's server in a configuration, and end it with the block.

    Raises:
        AdapterError: It cannot run here, or did not come up; with its own words. Its network was
            gone before the block ended.
    """
    folder, of_server = Path(study.folder), study.of_server(configuration)
    with new_run_root() as root, RunData(study.server, root, adapter=adapter) as data:
        data.make()
        began_s = time.monotonic()
        running = adapter.spawn(study.server, folder, of_server, root.new_place("check"))
        if isinstance(running, NotRunning):
            raise _not_up(running)
        try:
            effective = running.await_ready(READY_TIMEOUT_S)
            if isinstance(effective, NotRunning):
                raise _not_up(effective)
            ready_s = time.monotonic() - began_s
            yield Up(running=running, effective=effective, ready_s=ready_s)
            if gone := running.network_trouble():
                raise AdapterError("what was seen of the server is none of its doing", why=[gone])
        finally:
            running.stop()


def start_of_two(adapter: Stack, study: Study, *, seed: int) -> StartRecord:
    """Return one start of the server against itself, with all of its windows: what it costs."""
    start = study.start_configuration()
    return start_of_arms(adapter, study, (start, start), seed=seed)


def start_of_arms(
    adapter: Stack, study: Study, arms: tuple[Configuration, ...], *, seed: int
) -> StartRecord:
    """Return one start of these configurations side by side, with all of its windows."""
    method = study.method
    request = StartRequest(
        comparison=0,
        start=0,
        arms=arms,
        order=block_order(len(arms), method.blocks_per_start, seed=seed, comparison=0, start=0),
        window_s=method.window_s,
        lead_in_s=method.lead_in_s,
        warm_up_s=method.warm_up_s,
        warm_up_requests=method.warm_up_requests,
    )
    with bench_of(adapter, study, seed=seed) as bench:
        [record] = bench.measure_starts([request], lambda _window: None)
    return record


def whole_s(plan: Plan, record: StartRecord, *, can_count: bool) -> tuple[float, float]:
    """Return what the fewest starts of a whole plan take: all side by side, and one by one.

    Where the fewest do not decide, it takes more. What is looked at besides is in both.

    Args:
        plan: Of a ladder, a table, a sweep or a factorial.
        record: A start of two, alone.
        can_count: Whether system calls can be counted here.
    """
    can_count = can_count and "system calls" not in sources(
        plan.study.objective.named
    )  # each start does
    ahead = comparisons_ahead(plan)
    looks_s = LooksToTake(can_count=can_count).expected_s(ahead)
    looks_s += header_turns_s(plan.study, ahead)
    method, n_steps, start_s = plan.study.method, len(plan.steps), record.measuring_s
    if method.is_all_at_once:
        # All are up in each start; the final claim has two.
        one_by_one_s = method.min_starts * (n_at_once(plan) / 2 + 1) * start_s + looks_s
        return one_by_one_s, one_by_one_s
    load_s = sum(window.measurement.total_s for window in record.windows) + record.one_by_one_s
    coming_up_s = max(0.0, start_s - load_s)

    def together_s(n_starts: int) -> float:
        """The first start of a comparison is alone, the others come up in batches."""
        later = n_starts - 1
        return start_s + later * load_s + math.ceil(later / method.side_by_side) * coming_up_s

    if plan.reference is not None:
        # Each has starts of its own, and nothing comes before or after.
        least_s = n_steps * together_s(method.min_starts)
        return least_s + looks_s, method.min_starts * n_steps * start_s + looks_s
    n_comparisons = n_steps + 1
    least_s = together_s(N_CALIBRATION_STARTS) + n_comparisons * together_s(method.min_starts)
    most_s = (N_CALIBRATION_STARTS + method.min_starts * n_comparisons) * start_s
    looks_s += record.looked_s  # of the calibration, whose configuration is looked at later
    return least_s + looks_s, most_s + looks_s


def _not_up(failed: NotRunning) -> AdapterError:
    return AdapterError(
        "the server did not come up, it "
        + {
            "refused": "refused its configuration",
            "crashed": "crashed",
            "hung": "did not answer in time",
            "unstable": "was disturbed",
            "unlike": "answers otherwise",
            "infeasible": "cannot run so",
            "complete": "ended",
        }[failed.status],
        why=[failed.detail],
        hint="these are its own words; correct the study or its files, and check again"
        if failed.status != "unstable"
        else "",
    )


def _answered(visitor: Visitor, request: RequestSpec) -> Answered:
    """Return what came of one request; takes in the cookies that it brought."""
    answer = visitor.ask(Question(request=request), limit_s=visitor.workload.timeout_s)
    return Answered(
        request=f"{request.method} {request.path}",
        expected=_expected(request),
        status=answer.status,
        why=answer.why,
        duration_s=answer.duration_s,
        n_bytes=len(answer.body),
        is_right=answer.is_right,
    )


def _expected(request: RequestSpec) -> Reason:
    wanted, length = request.expect_status, request.expect_length
    if wanted is None:
        status = because("experiment.right_by_any_status")
    else:
        status = because("experiment.right_by_status", status=wanted)
    if length is None:
        return status
    return because("experiment.right_by_length", status=status, n_bytes=length)

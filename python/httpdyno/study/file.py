"""Study files: TOML as people write it, checked strictly, turned into a `Study`.

Two stages: `StudyFile` is exactly what was typed; `study_from` resolves it (units, defaults,
paths) and checks what one table alone cannot know. Every complaint names the file, the key, the
value and what was expected.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.host.foreign_files import is_there, read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.metrics.table import CALL_METRIC, is_among
from httpdyno.model.base import Level
from httpdyno.model.knob import Configuration, Knob, KnobInfo
from httpdyno.model.site import Site
from httpdyno.model.study import Method, Question, ServerSpec, Study, limits_of
from httpdyno.model.workload import Objective, Workload, second_metric_of
from httpdyno.study.complaint import MISSING_HINT, is_possible_number, nearest, typed_study
from httpdyno.study.fragments import program_of, target_of, with_fragments
from httpdyno.study.knob import Settings, check_load_knobs, study_candidates, study_knobs
from httpdyno.study.objective import check_server_for, metrics_of, metrics_text, with_also
from httpdyno.study.server import (
    SiteKnobInfos,
    check_network,
    check_site,
    infos_of,
    no_site_knobs,
    reached,
    server_from,
    site_server,
    whole_name,
    with_companions,
    with_whole_periods,
)
from httpdyno.study.table import StudyFile
from httpdyno.study.workload import (
    check_patterns,
    check_phases,
    check_turn,
    check_warm_up,
    check_windows,
    counted_header,
    encrypted,
    study_workload,
)

KnobInfos = Callable[[str], Mapping[str, KnobInfo]]
"""From an adapter's name to what it can set; raises HttpdynoError for an unknown adapter."""

_LARGEST_BYTES = 1 << 20
_DEEP_KEY = re.compile(r"(?:[^\s.=\[\]]+[ \t]*\.[ \t]*){64}")
_LEAST_STARTS = 6
"""An interval is exact for normal log ratios; fewer starts would lean on that too much."""

_FACTORS = (2, 4)
"""One has no interactions, and five are 32 servers at a time."""


def load_study(
    path: Path, knob_infos: KnobInfos, site_knob_infos: SiteKnobInfos = no_site_knobs
) -> Study:
    """Read and check a study file, or the `study.toml` of a folder.

    Args:
        path: Of either.
        knob_infos: What the server of a `[server]` can be set to.
        site_knob_infos: What the members of a `[site]` can be set to, and what they are set to.

    Raises:
        StudyFileError: It is not there, is not TOML, or says something that makes no sense.
    """
    file = path / "study.toml" if is_there(path) and path.is_dir() else path
    try:
        text = read_regular(file, limit_bytes=_LARGEST_BYTES).decode("utf-8-sig")
        raw = _tables(text)
    except OSError as error:
        raise StudyFileError(
            f"study file `{file}` cannot be read: {reason(error)}",
            hint="`httpdyno study list` names some.",
        ) from error
    except UnicodeDecodeError as error:
        raise StudyFileError(f"study file `{file}` is not text in UTF-8: {error}") from error
    except RecursionError:
        raise StudyFileError(f"`{file}` has too many tables or lists in each other") from None
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(
            f"`{file}` is not TOML: {error}",
            hint="`httpdyno study list` names some that are right"
            if file.suffix == ".toml"
            else f"`httpdyno adopt {file}` makes a study of a server's configuration",
        ) from error
    except ValueError as error:  # Python's own bound on digits
        raise StudyFileError(f"`{file}` holds a number of thousands of digits") from error
    return study_from(raw, file, knob_infos, site_knob_infos)


def _tables(text: str) -> dict[str, Any]:
    if _DEEP_KEY.search(text):  # which tomllib takes minutes for
        raise RecursionError
    return tomllib.loads(text)


def study_from(
    raw: dict[str, Any],
    file: Path,
    knob_infos: KnobInfos,
    site_knob_infos: SiteKnobInfos = no_site_knobs,
) -> Study:
    """Return the study that the TOML tables of `file` describe."""
    typed = typed_study(raw, file)
    check = _Checker(file)
    check.format(typed)
    if (site := typed.site) is not None:
        check_site(site, file.parent, check.wrong)
    code = target_of(typed, file)
    server = check.target(typed) if code is None else program_of(code, file.parent, check.wrong)
    has_candidates = bool(typed.candidates)
    if site is None:
        settings = Settings(
            infos=infos_of(server, knob_infos) if code is None else {},
            fixed=frozenset(server.settings),
            has_candidates=has_candidates,
        )
    else:
        infos = site_knob_infos(site, file.parent)
        members = _members(site)
        settings = Settings(infos=infos, members=members, has_candidates=has_candidates)
    knobs = study_knobs(typed.knobs, settings, check.wrong)
    workload = study_workload(typed.workload, file, check.wrong)
    if site is not None:
        workload = reached(workload, site)
    is_tls = server.tls or workload.tls is not None
    workload = encrypted(workload, typed.workload, check.wrong, is_tls=is_tls)
    said = {name: getattr(typed, name) for name in Question.__struct_fields__}
    resolved: dict[str, Any] = {
        "knobs": knobs,
        "candidates": study_candidates(typed.candidates, knobs, settings, check.wrong),
        "objective": check.objective(
            typed.objective,
            workload,
            metrics=metrics_of(workload) if code is None else (CALL_METRIC,),
        ),
        "method": with_whole_periods(
            check.method(typed.method, knobs, typed.objective, _members(site)),
            [limits for _, limits in limits_of(server, site)],
        ),
    }
    study = Study(
        **said | resolved,
        folder=str(file.parent.resolve()),
        file=file.name,
        server=server,
        workload=workload,
        may_differ=check_patterns(typed.workload.may_differ, check.wrong),
        counted_header=counted_header(typed.workload, workload, check.wrong),
        budget_s=typed.budget.time_s,
    )
    check_windows(study.workload, study.method, study.objective, check.wrong)
    for metric in sorted(study.objective.named):
        try:
            check_server_for(metric, study)
        except ValueError as error:
            raise check.wrong("objective.metric", metric, f"{error}") from error
    check_phases(study.method, study.workload, check.wrong)
    check_warm_up(study.method, study.workload, check.wrong)
    check_load_knobs(study, check.wrong)
    check_network(study)
    return with_fragments(study, typed, check.wrong)


def configuration_from(text: str, study: Study) -> Configuration:
    """Return the start configuration with `KNOB=VALUE,…` put in; values as TOML writes them.

    The name of one of the study's candidates, in place of a `KNOB=VALUE`, puts in what it sets.

    Raises:
        UsageError: An unknown knob, or a value of another type than the knob's.
    """
    configuration = study.start_configuration()
    members = _members(study.site)
    candidates = {each.name: each.values for each in study.candidates}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        if part in candidates:
            configuration = configuration.with_values(candidates[part])
            continue
        name, equals, written = (piece.strip() for piece in part.partition("="))
        name = whole_name(name, members, configuration.values)
        known = ", ".join(configuration.values)
        if not equals or name not in configuration.values:
            raise UsageError(
                f"`{part}` sets no knob of study {study.name}; expected KNOB=VALUE",
                hint=nearest(name, [*configuration.values, *candidates])
                or (f"Its knobs: {known}." if known else "Put a `[[knobs]]` into it first."),
            )
        configuration = configuration.replaced(name, _level(name, written, study.knob(name).start))
    return configuration


def _members(site: Site | None) -> tuple[str, ...]:
    return () if site is None else tuple(member.name for member in site.members)


def _level(name: str, written: str, like: Level) -> Level:
    if isinstance(like, bool):
        if written.lower() in {"true", "false", "on", "off"}:
            return written.lower() in {"true", "on"}
        raise UsageError(f"knob {name} is `{written}`; expected true or false")
    if isinstance(like, str):
        return written
    try:
        value = int(written) if isinstance(like, int) else float(written)
    except ValueError as error:
        raise UsageError(f"knob {name} is `{written}`; expected a number") from error
    if not is_possible_number(value):
        raise UsageError(f"knob {name} is `{written}`; expected a number of at most 64 bits")
    return value


class _Checker:
    """Turns tables into domain types; knows the file's name for complaints."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def wrong(self, key: str, value: object, expected: str) -> StudyFileError:
        return StudyFileError(f"`{self._file}`: {key} is {value!r}; expected {expected}")

    def at_least(self, key: str, value: float, least: float) -> None:
        if value < least:
            raise self.wrong(key, value, f"at least {least:g}")

    def format(self, typed: StudyFile) -> None:
        """Refuse tables that the file's format has not, and both or neither of the targets."""
        for name in ("site", "fragments", "candidates", "companions", "network"):
            if typed.format == 1 and getattr(typed, name):
                raise StudyFileError(
                    f"`{self._file}`: {name} is not a key of format 1", hint="write `format = 2`"
                )
        if typed.site is not None and any(phase.run for phase in typed.method.phases):
            raise self.wrong("method.phases", "run", "no command beside [site]")
        if typed.candidates and typed.method.kind not in {"ladder", "table"}:
            raise self.wrong(
                "method.kind", typed.method.kind, "ladder or table, where there are candidates"
            )
        if typed.site is not None and typed.workload.target:
            key = "workload.target"
            raise self.wrong(key, typed.workload.target, "none beside [site], which has `listener`")
        if typed.site is not None and typed.companions:
            raise self.wrong("companions", "companions", "none beside [site], which has members")
        if typed.site is not None and typed.network is not None:
            raise self.wrong(
                "network", "network", "none beside [site], whose copies have their own"
            )
        if typed.server is not None and typed.site is not None:
            raise StudyFileError(
                f"`{self._file}`: [server] and [site] exclude each other",
                hint="[site] is about servers of your own, [server] about one that the study makes",
            )

    def target(self, typed: StudyFile) -> ServerSpec:
        if typed.site is not None:
            return site_server(typed.site)
        if typed.server is None:
            raise StudyFileError(
                f"`{self._file}`: object missing required field `server`"
                f"{'' if typed.format == 1 else ' or `site`'}",
                hint=MISSING_HINT,
            )
        folder = self._file.parent
        server = server_from(typed.server, folder, self.wrong)
        server = with_companions(server, typed, folder, self.wrong)
        return structs.replace(server, network=typed.network)

    def objective(self, table: Objective, workload: Workload, metrics: Sequence[str]) -> Objective:
        for name, metric in (("metric", table.metric), ("tie_breaker", table.tie_breaker)):
            if not is_among(metric, metrics) and (metric or name == "metric"):
                raise self.wrong(f"objective.{name}", metric, metrics_text(metrics))
        if table.tie_breaker == table.metric:
            raise self.wrong("objective.tie_breaker", table.tie_breaker, "another than the metric")
        for key, value, low, high in (
            ("objective.margin", table.margin_ratio, 0.0, 0.5),
            ("objective.confidence", table.confidence, 0.5, 0.9999),
            ("objective.max_error_ratio", table.max_error_ratio, 0.0, 1.0),
        ):
            if not low <= value <= high:
                raise self.wrong(key, value, f"{low:g} to {high:g}")
        second = second_metric_of(
            table.metric, table.tie_breaker, is_open_loop=workload.is_open_loop
        )
        objective = structs.replace(table, also=(), second_metric=second)
        try:
            return with_also(objective, table.also, workload)
        except UsageError as error:
            raise self.wrong("objective.also", list(table.also), error.hint) from error

    def method(
        self,
        table: Method,
        knobs: tuple[Knob, ...],
        objective: Objective,
        members: tuple[str, ...],
    ) -> Method:
        names = [knob.name for knob in knobs]
        swept = table.knob and whole_name(table.knob, members, names)
        if table.kind == "sweep" and swept not in names:
            raise self.wrong("method.knob", table.knob, f"the knob to sweep: {', '.join(names)}")
        if table.kind == "sweep" and objective.tie_breaker:
            raise self.wrong(
                "objective.tie_breaker",
                objective.tie_breaker,
                "none in a sweep: of levels that tie it takes the smallest, or the start",
            )
        if table.kind == "factorial":
            self._factorial(knobs)
        self.at_least("method.blocks_per_start", table.blocks_per_start, 1)
        self.at_least("method.min_starts", table.min_starts, _LEAST_STARTS)
        self.at_least("method.side_by_side", table.side_by_side, 1)
        check_turn(table, self.wrong)
        return structs.replace(
            table,
            knob=swept,
            # What a phase does to a machine its neighbour would feel.
            side_by_side=1 if table.phases else table.side_by_side,
            decides=table.decides or (table.phases[-1].name if table.phases else ""),
        )

    def _factorial(self, knobs: tuple[Knob, ...]) -> None:
        """Refuse what has no full design of two levels, or none that anybody could wait for."""
        low, high = _FACTORS
        # What has no level beside its start is there to be set by hand.
        factors = [knob for knob in knobs if knob.levels]
        if not low <= len(factors) <= high:
            names = [knob.name for knob in factors]
            raise self.wrong("knobs", names, f"{low} to {high} knobs, of a factorial")
        for knob in factors:
            others = [level for level in knob.levels if level != knob.start]
            if len(others) != 1:
                raise self.wrong(
                    f"knobs ({knob.name}).levels",
                    list(knob.levels),
                    "one level beside the start, of a factorial",
                )

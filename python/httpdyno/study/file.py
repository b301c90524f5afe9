"""Study files: TOML as people write it, checked strictly, turned into a `Study`.

Two stages: `StudyFile` is exactly what was typed; `study_from` resolves it (units, defaults,
paths) and checks what one table alone cannot know. Every complaint names the file, the key, the
value and what was expected.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.foreign_text import is_there, read_regular, reason
from httpdyno.model.base import Level
from httpdyno.model.knob import Configuration, Knob, KnobInfo
from httpdyno.model.metric import METRIC_NAMES
from httpdyno.model.study import Method, ServerSpec, Study
from httpdyno.model.workload import Objective, second_metric_of
from httpdyno.study.complaint import is_possible_number, nearest, typed_study
from httpdyno.study.table import KnobTable, MethodTable, ObjectiveTable, ServerTable, StudyFile
from httpdyno.study.workload import check_windows, study_workload
from httpdyno.units import duration_s

KnobInfos = Callable[[str], Mapping[str, KnobInfo]]
"""From an adapter's name to what it can set; raises HttpdynoError for an unknown adapter."""

_LARGEST_BYTES = 1 << 20
_DEEP_KEY = re.compile(r"(?:[^\s.=\[\]]+[ \t]*\.[ \t]*){64}")
_LEAST_STARTS = 6
"""An interval is exact for normal log ratios; fewer starts would lean on that too much."""

_PATH = re.compile(r"/[!-~]*")

CURVE = "throughput_per_s"


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files, for editors."""
    return msgspec.json.schema(StudyFile)


def load_study(path: Path, knob_infos: KnobInfos) -> Study:
    """Read and check a study file, or the `study.toml` of a folder.

    Raises:
        StudyFileError: It is not there, is not TOML, or says something that makes no sense.
    """
    file = path / "study.toml" if is_there(path) and path.is_dir() else path
    try:
        text = read_regular(file, limit_bytes=_LARGEST_BYTES).decode("utf-8")
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
        raise StudyFileError(f"`{file}` is not TOML: {error}") from error
    except ValueError as error:  # Python's own bound on digits
        raise StudyFileError(f"`{file}` holds a number of thousands of digits") from error
    return study_from(raw, file, knob_infos)


def _tables(text: str) -> dict[str, Any]:
    if _DEEP_KEY.search(text):  # which tomllib takes minutes for
        raise RecursionError
    return tomllib.loads(text)


def study_from(raw: dict[str, Any], file: Path, knob_infos: KnobInfos) -> Study:
    """Return the study that the TOML tables of `file` describe."""
    typed = typed_study(raw, file)
    check = _Checker(file)
    workload = study_workload(typed.workload, file, check.wrong)
    study = Study(
        name=typed.name,
        title=typed.title,
        about=typed.about,
        book_figure=typed.book_figure,
        book_ratio=typed.book_ratio,
        folder=str(file.parent.resolve()),
        file=file.name,
        server=check.server(typed.server),
        knobs=check.knobs(typed.knobs, knob_infos(typed.server.adapter), typed.server),
        workload=workload,
        objective=check.objective(typed.objective, is_open_loop=workload.is_open_loop),
        method=check.method(typed.method, typed.knobs, typed.objective),
        budget_s=check.duration("budget.time", typed.budget.time),
    )
    check_windows(study.workload, study.method, study.objective, check.wrong)
    return study


def configuration_from(text: str, study: Study) -> Configuration:
    """Return the start configuration with `KNOB=VALUE,…` put in; values as TOML writes them.

    Raises:
        UsageError: An unknown knob, or a value of another type than the knob's.
    """
    configuration = study.start_configuration()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, written = (piece.strip() for piece in part.partition("="))
        known = ", ".join(configuration.values)
        if not equals or name not in configuration.values:
            raise UsageError(
                f"`{part}` sets no knob of study {study.name}; expected KNOB=VALUE",
                hint=nearest(name, configuration.values) or f"Its knobs: {known}.",
            )
        configuration = configuration.replaced(name, _level(name, written, study.knob(name).start))
    return configuration


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

    def duration(self, key: str, text: str) -> float:
        try:
            seconds = duration_s(text)
        except UsageError as error:
            raise self.wrong(key, text, "a duration such as `250ms`, `30s`, `3m`") from error
        if seconds <= 0 and key not in {"method.lead_in", "method.warm_up"}:
            raise self.wrong(key, text, "more than zero")
        return seconds

    def at_least(self, key: str, value: float, least: float) -> None:
        if value < least:
            raise self.wrong(key, value, f"at least {least:g}")

    def server(self, table: ServerTable) -> ServerSpec:
        folder = self._file.parent
        for key, path in (
            ("ready_path", table.ready_path),
            ("effective_path", table.effective_path),
        ):
            if (path or key == "ready_path") and not _PATH.fullmatch(path):
                raise self.wrong(f"server.{key}", path, "a path from `/` on, in ASCII, no spaces")
        for index, template in enumerate(table.templates):
            self._existing(f"server.templates[{index}].source", template.source, folder)
        if table.base:
            self._existing("server.base", table.base, folder)
        for index, entry in enumerate(table.files):
            # Files of packages (absolute) may not be installed yet; `doctor` and the adapter tell.
            if not Path(entry.from_).is_absolute():
                self._existing(f"server.files[{index}].from", entry.from_, folder)
        return ServerSpec(
            adapter=table.adapter,
            base=table.base,
            files=tuple((entry.from_, entry.to) for entry in table.files),
            templates=table.templates,
            settings=table.settings,
            environment=table.environment,
            ready_path=table.ready_path,
            effective_path=table.effective_path,
            prepare=table.prepare,
            writable=table.writable,
        )

    def _existing(self, key: str, name: str, folder: Path) -> None:
        if not is_there(folder / name):
            raise self.wrong(key, name, f"a file in {folder}")

    def knobs(
        self, tables: tuple[KnobTable, ...], infos: Mapping[str, KnobInfo], server: ServerTable
    ) -> tuple[Knob, ...]:
        if not tables:
            raise StudyFileError(f"`{self._file}`: knobs is empty; expected at least one [[knobs]]")
        seen: set[str] = set()
        for index, table in enumerate(tables):
            key = f"knobs[{index}] ({table.name})"
            if table.name in seen or table.name in server.settings:
                raise self.wrong(f"{key}.name", table.name, "a name that is not set twice")
            seen.add(table.name)
            self._check_levels(key, table, infos.get(table.name))
        return tuple(self._knob(table, infos.get(table.name)) for table in tables)

    def _check_levels(self, key: str, table: KnobTable, info: KnobInfo | None) -> None:
        values = (table.start, *table.levels)
        if not set(table.levels) - {table.start} or len(set(table.levels)) != len(table.levels):
            raise self.wrong(
                f"{key}.levels", list(table.levels), "levels other than the start, each once"
            )
        if len({_family(value) for value in values}) > 1:
            raise self.wrong(f"{key}.levels", list(table.levels), f"the type of {table.start!r}")
        if table.book_ratio and len(table.book_ratio) != len(table.levels):
            raise self.wrong(f"{key}.book_ratio", list(table.book_ratio), "one for each level")
        for value in values:
            wrong = info.complaint(value) if info else ""
            if wrong:
                raise self.wrong(key, value, wrong.removeprefix("expected "))

    @staticmethod
    def _knob(table: KnobTable, info: KnobInfo | None) -> Knob:
        return Knob(
            name=table.name,
            start=table.start,
            levels=table.levels,
            title=table.title or (info.summary if info else ""),
            unit=table.unit or (info.unit if info else ""),
            why=table.why,
            book_ratio=table.book_ratio,
        )

    def objective(self, table: ObjectiveTable, *, is_open_loop: bool) -> Objective:
        for name, metric in (("metric", table.metric), ("tie_breaker", table.tie_breaker)):
            if metric not in METRIC_NAMES and (metric or name == "metric"):
                raise self.wrong(f"objective.{name}", metric, ", ".join(METRIC_NAMES))
        if table.tie_breaker == table.metric:
            raise self.wrong("objective.tie_breaker", table.tie_breaker, "another than the metric")
        for key, value, low, high in (
            ("objective.margin", table.margin, 0.0, 0.5),
            ("objective.confidence", table.confidence, 0.5, 0.9999),
            ("objective.max_error_ratio", table.max_error_ratio, 0.0, 1.0),
        ):
            if not low <= value <= high:
                raise self.wrong(key, value, f"{low:g} to {high:g}")
        return Objective(
            metric=table.metric,
            tie_breaker=table.tie_breaker,
            second_metric=second_metric_of(
                table.metric, table.tie_breaker, is_open_loop=is_open_loop
            ),
            max_error_ratio=table.max_error_ratio,
            max_p99_s=self.duration("objective.max_p99", table.max_p99) if table.max_p99 else None,
            margin_ratio=table.margin,
            confidence=table.confidence,
        )

    def method(
        self, table: MethodTable, knobs: tuple[KnobTable, ...], objective: ObjectiveTable
    ) -> Method:
        names = [knob.name for knob in knobs]
        if table.kind == "sweep" and table.knob not in names:
            raise self.wrong("method.knob", table.knob, f"the knob to sweep: {', '.join(names)}")
        if table.kind == "sweep" and (objective.metric, objective.tie_breaker) != (CURVE, ""):
            value = objective.tie_breaker or objective.metric
            raise self.wrong("objective", value, f"{CURVE} alone: a sweep's curve is of it")
        self.at_least("method.blocks_per_start", table.blocks_per_start, 1)
        self.at_least("method.min_starts", table.min_starts, _LEAST_STARTS)
        self.at_least("method.side_by_side", table.side_by_side, 1)
        return Method(
            kind=table.kind,
            knob=table.knob,
            window_s=self.duration("method.window", table.window),
            lead_in_s=self.duration("method.lead_in", table.lead_in),
            warm_up_s=self.duration("method.warm_up", table.warm_up),
            blocks_per_start=table.blocks_per_start,
            min_starts=table.min_starts,
            side_by_side=table.side_by_side,
            cores=table.cores,
        )


def _family(value: Level) -> str:
    if isinstance(value, bool | str):
        return type(value).__name__
    return "number"

"""Numbers that one fresh server gives: system calls of a response, or what a response says."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from httpdyno.book.experiment import Count, Experiment, Word
from httpdyno.book.found import Asked, Found, levels_text, server_of, study_here, version_of
from httpdyno.book.rule import judged_count
from httpdyno.errors import TargetError
from httpdyno.experiment.trial.afterwards import with_calls
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Level, Look, Study, Workload
from httpdyno.model.knob import with_load_knobs
from httpdyno.report.shared import message

_WARM_S = 0.5
_ANSWER_S = 10.0


def count(asked: Asked, way: Count) -> Found:
    """Return what one fresh server for each configuration was counted at.

    Raises:
        AdapterError: The study's server is not here, or does not come up.
        TargetError: It gives no number.
    """
    study = study_here(way.study)
    if not way.of:
        return _said(asked.each, way, study)
    look = _calls(asked, way, study, way.at)
    n, words = _added(look, way.of)
    beside = []
    for each in way.beside:
        other, of_other = _added(_calls(asked, way, study, way.at | each.at), each.of)
        word = "" if asked.each.footing else f": {judged_count(each.then, other)}"
        beside.append(f"{of_other} with {levels_text(each.at)}, {each.then:g} then{word}")
    return Found(
        verdict=counted(asked.each, n),
        says=f"{words} for a request, counted over {look.n_traced}",
        server=version_of(study),
        figures={"count": n, "evidence": tuple(beside)},
    )


def counted(each: Experiment, n: float) -> Word:
    """Return what becomes of a number that was counted then.

    Raises:
        ValueError: None was.
    """
    if each.then.count is None:
        raise ValueError(f"{each.name} has no count of then")
    return "not comparable" if each.footing else judged_count(each.then.count, n)


def _calls(asked: Asked, way: Count, study: Study, at: Mapping[str, Level]) -> Look:
    """Return the system calls of an answer, of one fresh server."""
    load = with_load_knobs(study.workload, {"path": way.path} if way.path else {})
    with server_of(study, at) as up:

        def start(workload: Workload, window: WindowPlan, on_edge: Edge | None) -> LoadHandle:
            return start_load(
                workload,
                up.running.addresses[:1],
                [window],
                networks=up.running.networks[:1],
                seed=asked.seed,
                on_edge=on_edge,
            )

        start(load, WindowPlan(arm=0, lead_in_s=0.0, measure_s=_WARM_S), None).wait()
        look = with_calls(Look(seconds=0.0, n_samples=0), up.running.root_pids, load, start)
    if look.untraced:
        raise TargetError(f"system calls could not be counted: {message.text(look.untraced)}")
    return look


def _added(look: Look, kinds: Sequence[str]) -> tuple[float, str]:
    """Return calls of these kinds added up, and each of them in words."""
    n_of = {kind: look.calls.get(kind, 0.0) for kind in kinds}
    return sum(n_of.values()), " + ".join(f"{n:.3g} {kind}" for kind, n in n_of.items())


def _said(each: Experiment, way: Count, study: Study) -> Found:
    """Return the number that a response begins with."""
    with server_of(study, way.at) as up:
        try:
            with closing(HTTPConnection(up.running.addresses[0], timeout=_ANSWER_S)) as connection:
                connection.request("GET", way.path)
                answer = connection.getresponse().read().decode(errors="replace")
        except (OSError, HTTPException) as error:
            raise TargetError(f"{way.path} got no answer: {error}") from error
    number, _, words = answer.strip().partition(" ")
    if not number.isdecimal():
        raise TargetError(f"{way.path} of study {way.study} answers with no number: {number}")
    n = float(number)
    return Found(
        verdict=counted(each, n),
        says=f"{number}: {words}",
        server=version_of(study),
        figures={"count": n},
    )

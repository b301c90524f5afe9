"""Load tests of the book's documents: as commands, on several fresh servers each."""

import json
import os
import random
import re
import resource
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from httpdyno.book.experiment import Clients, Raised, Recipe
from httpdyno.cli.book_found import (
    Asked,
    Found,
    bounds_text,
    number_text,
    output_of,
    pinned,
    ratio_figures,
    series_of,
    server_of,
    study_here,
    told,
    version_of,
)
from httpdyno.errors import TargetError
from httpdyno.experiment.one_start import Up
from httpdyno.units import format_duration, format_percent

Said = dict[str, Any]
"""What `httpdyno load` says in JSON."""
_SEEDS = 1 << 32
_LWP = r"""
use strict; use warnings; use LWP::UserAgent; use LWP::Protocol::http; use Time::HiRes qw(time);
my ($url, $agents, $n) = @ARGV;
my ($began, $bad, @pids) = (time, 0);
for (1 .. $agents) {
    my $pid = fork;
    die "no fork: $!" unless defined $pid;
    push(@pids, $pid), next if $pid;
    my ($ua, $wrong) = (LWP::UserAgent->new(timeout => 10), 0);
    for (1 .. $n / $agents) { $wrong++ unless $ua->get($url)->is_success }
    exit($wrong ? 1 : 0);
}
for (@pids) { waitpid($_, 0); $bad++ if $? }
die "$bad of $agents agents got a wrong answer\n" if $bad;
printf "%.6f", $n / (time - $began);
"""


def recipe(asked: Asked) -> Found:
    """Run a load test on fresh servers, one after the other."""
    way = asked.each.way
    assert isinstance(way, Recipe)  # noqa: S101 - by the table of ways
    study = study_here(way.study)
    paths = way.paths or (study.workload.requests[0].path,)
    figure_of, words_of = RECIPES[way.figure]
    runs: list[Said] = []

    def one(number: int) -> float:
        with server_of(study, way.at) as up:
            run = _load(up, paths, (*way.words, *_seed(asked, number)))
        value = figure_of(run)
        runs.append(run)
        return value

    values, interval = series_of(asked, one)
    says, evidence = words_of(runs)
    return Found(
        word=told(asked.each, values, interval),
        says=f"{says}, {len(runs)} runs on fresh servers",
        version=version_of(study),
        figures=ratio_figures(values, interval) | {"moved": (evidence,)},
    )


def _refused(said: Said) -> float:
    return float((said["offered"] - said["completed"]) / said["offered"])


def _refused_words(runs: Sequence[Said]) -> tuple[str, str]:
    offered, completed = (sum(run[name] for run in runs) for name in ("offered", "completed"))
    statuses: Counter[str] = sum((Counter(run["statuses"]) for run in runs), Counter())
    seen = ", ".join(f"{n:,} × {status}" for status, n in sorted(statuses.items()))
    return f"{completed:,} of {offered:,} requests completed", f"answers by status {seen}"


def _answered(said: Said) -> float:
    return float(said["completed"] / said["offered"])


def _answered_words(runs: Sequence[Said]) -> tuple[str, str]:
    offered, completed = (sum(run[name] for run in runs) for name in ("offered", "completed"))
    longest = max(run["latency_s"]["max"] or 0.0 for run in runs)
    return (
        f"{completed:,} of {offered:,} that were due were answered in time",
        f"longest wait of an answer {format_duration(longest)}, from when it was due",
    )


def _under_way(said: Said) -> float:
    """Return mean latency times rate, the clients that wait (Little's law), over those there are.

    Source: Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961).

    Raises:
        TargetError: Nothing was answered, so nobody knows how long an answer takes.
    """
    n = said["provenance"]["workload"]["connections"]
    if not said["completed"]:
        raise TargetError("a load test got no right answer")
    return float(said["latency_s"]["mean"] * said["throughput_per_s"] / n)


def _under_way_words(runs: Sequence[Said]) -> tuple[str, str]:
    n = runs[0]["provenance"]["workload"]["connections"]
    mean = sum(_under_way(run) for run in runs) / len(runs)
    middle = sorted(runs, key=_under_way)[len(runs) // 2]
    latency, rate = middle["latency_s"]["mean"], middle["throughput_per_s"]
    return (
        f"{mean * n:.2f} of {n} were under way",
        f"mean latency times rate {format_duration(latency)} × {number_text(rate)}/s",
    )


RECIPES: Mapping[
    str, tuple[Callable[[Said], float], Callable[[Sequence[Said]], tuple[str, str]]]
] = {
    "refused": (_refused, _refused_words),
    "answered": (_answered, _answered_words),
    "little": (_under_way, _under_way_words),
}
"""Of each figure: what one run says of it; all of them in words, and the evidence."""


def raised(asked: Asked) -> Found:
    """Load fresh servers with more and more clients, in an order drawn for each."""
    way = asked.each.way
    assert isinstance(way, Raised)  # noqa: S101 - by the table of ways
    study, draw = study_here(way.study), random.Random(asked.seed)
    path = (study.workload.requests[0].path,)
    runs: dict[int, list[Said]] = {n: [] for n in way.clients}

    def one(number: int) -> float:
        here: dict[int, Said] = {}
        with server_of(study, way.at) as up:
            for n in draw.sample(way.clients, len(way.clients)):
                words = (*way.words, "-c", f"{n}", *_seed(asked, number))
                here[n] = _load(up, path, words)
        before, after = (here[n]["throughput_per_s"] for n in way.of)
        if not before:
            raise TargetError(f"{way.of[0]} clients got no right answer")
        # Of whole servers only: one that failed on the way counts for nothing.
        for n, run in here.items():
            runs[n].append(run)
        return float(after / before)

    values, interval = series_of(asked, one)
    says = f"throughput with {way.of[1]:,} clients over {way.of[0]:,}"
    if interval is not None:
        says += f" {bounds_text(interval, len(values), 'fresh servers')}"
    rates = ", ".join(f"{n:,}: {number_text(_mean_rate(each))}" for n, each in runs.items())
    most = max(way.clients)
    offered, completed = (sum(run[name] for run in runs[most]) for name in ("offered", "completed"))
    failed = (offered - completed) / offered if offered else 1.0
    figures = ratio_figures(values, interval) | {
        "moved": (
            f"requests/s by clients {rates}",
            f"requests that failed with {most:,} clients {format_percent(failed)}",
        )
    }
    word = told(asked.each, values, interval)
    return Found(word=word, says=says, version=version_of(study), figures=figures)


def _mean_rate(runs: Sequence[Said]) -> float:
    return sum(float(run["throughput_per_s"]) for run in runs) / len(runs)


def clients(asked: Asked) -> Found:
    """Let ab and a client of LWP ask fresh servers in turn, in an order drawn for each."""
    way = asked.each.way
    assert isinstance(way, Clients)  # noqa: S101 - by the table of ways
    study, draw = study_here(way.study), random.Random(asked.seed)
    path, cpu = study.workload.requests[0].path, max(os.sched_getaffinity(0))
    seen: dict[str, list[tuple[float, float]]] = {"ab": [], "LWP": []}

    def one(_number: int) -> float:
        with server_of(study, way.at) as up:
            url = f"http://{up.running.addresses[0]}{path}"
            here = {
                name: _client(name, url, way, cpu) for name in draw.sample(sorted(seen), len(seen))
            }
        for name, pair in here.items():
            seen[name].append(pair)
        return here["ab"][0] / here["LWP"][0]

    values, interval = series_of(asked, one)
    rates, used = ([_mean(seen[name], k) for name in ("ab", "LWP")] for k in (0, 1))
    both = " and ".join(number_text(rate) for rate in rates)
    says = f"requests/s of ab over those of LWP: {both}"
    if interval is not None:
        says = f"{bounds_text(interval, len(values), 'fresh servers')}: {says}"
    each = " and ".join(format_duration(value) for value in used)
    figures = ratio_figures(values, interval) | {
        "moved": (f"the clients' own CPU time for a request {each}",)
    }
    word = told(asked.each, values, interval)
    return Found(word=word, says=says, version=version_of(study), figures=figures)


def _mean(pairs: Sequence[tuple[float, float]], k: int) -> float:
    return sum(pair[k] for pair in pairs) / len(pairs)


def _client(name: str, url: str, way: Clients, cpu: int) -> tuple[float, float]:
    """Return the requests/s that a program says, and its CPU time for one of them."""
    counts = (f"{way.n_agents}", f"{way.n_requests}")
    command = {
        "ab": ("ab", "-q", "-c", counts[0], "-n", counts[1], url),
        "LWP": ("perl", "-e", _LWP, url, *counts),
    }[name]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = output_of(pinned(cpu, command))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rate = ab_rate(text) if name == "ab" else float(text)
    return rate, used_s / way.n_requests


def ab_rate(text: str) -> float:
    """Return the requests/s of what ab says.

    Raises:
        TargetError: It says none, or that answers were not as they should be.
    """
    rate = re.search(r"^Requests per second: +([0-9.]+)", text, re.MULTILINE)
    wrong = re.search(r"^(Failed requests|Non-2xx responses): +([1-9][0-9]*)", text, re.MULTILINE)
    if wrong:
        raise TargetError(f"ab says `{wrong[0]}`")
    if rate is None:
        raise TargetError("ab says no requests per second")
    return float(rate[1])


def _seed(asked: Asked, number: int) -> tuple[str, str]:
    return "--seed", f"{(asked.seed + number) % _SEEDS}"


def _load(up: Up, paths: Sequence[str], words: Sequence[str]) -> Said:
    """Return what `httpdyno load` says in JSON; it may end with 1 where requests failed."""
    urls = [f"http://{up.running.addresses[0]}{path}" for path in paths]
    command = [sys.executable, "-m", "httpdyno", "load", *urls, *words, "--json", "-"]
    text = output_of(command, may_fail=True)
    try:
        said: Said = json.loads(text)
    except ValueError as error:
        hint = f"`{' '.join(command[2:])}`"
        raise TargetError("a load test said no figures", hint=hint) from error
    if not said["offered"]:
        raise TargetError("a load test sent no request")
    return said

"""Commands of experiments, and the figures in what they print.

A command prints JSON (`httpdyno` is asked for it), or is `ab`. Its figures are the numbers by the
path to them, as in `latency_s.mean`; an entry of a list goes by its `name`. `httpdyno load` has the
parts of its requests besides: `failed_ratio`, `completed_ratio`, and of its connections
`under_way_ratio`. Each command has `own_cpu_s`, the CPU time that it and its children took.
"""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpdyno.errors import TargetError
from httpdyno.host.runnable import own_program

_SCRIPTS = Path(__file__).parent / "scripts"
_COMMAND_S = 120.0
_PIN = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); "
    "os.sched_setaffinity(0, {int(sys.argv[2])}); os.execv(sys.argv[3], sys.argv[3:])"
)
"""It is killed with this process, `PR_SET_PDEATHSIG`: nobody else would end it."""


def figures_of(typed: str, places: Mapping[str, str], *, has_one_core: bool) -> dict[str, float]:
    """Return the figures that a command prints.

    Args:
        typed: The command; `{name}` stands for a place.
        places: Addresses, and the `seed` of load tests.
        has_one_core: Whether it shares one core with all that it begins.

    Raises:
        AdapterError: Its program is not installed, or others than this user may write it.
        TargetError: It did not run, failed, took too long, or printed no figures.
    """
    words = [word.format_map(places) for word in shlex.split(typed)]
    program, is_load = words[0], words[:2] == ["httpdyno", "load"]
    words = [str(_SCRIPTS / word) if word.endswith(".pl") else word for word in words]
    if program == "httpdyno":
        words = [sys.executable, "-m", *words, "--json", "-"]
        words += ["--seed", places["seed"]] if is_load else []
    elif not has_one_core:
        words[0] = own_program(program)
    if has_one_core:
        words = pinned(max(os.sched_getaffinity(0)), words)
    before = _children_s()
    # A load test ends with 1 where requests failed.
    text = output_of(words, may_fail=program == "httpdyno")
    own_cpu_s = _children_s() - before
    if program == "ab":
        return {"requests_per_s": ab_rate(text), "own_cpu_s": own_cpu_s}
    try:
        printed = json.loads(text)
    except ValueError as error:
        hint = f"`{shlex.join(words)}`"
        raise TargetError(f"`{program}` printed no figures", hint=hint) from error
    parts = _parts(printed) if is_load else {}
    return dict(_numbers(printed)) | parts | {"own_cpu_s": own_cpu_s}


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:  # noqa: ANN401 - JSON's
    if isinstance(value, list):
        value = {each["name"]: each for each in value if isinstance(each, dict) and "name" in each}
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _numbers(each, f"{path}.{name}" if path else name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def _parts(load: Mapping[str, Any]) -> dict[str, float]:
    """Return the parts that a load test has of its requests, and of its connections.

    Mean latency × rate is how many clients wait (Little, A Proof for the Queuing Formula L = λW,
    Operations Research 9, 1961).

    Raises:
        TargetError: It sent no request.
    """
    offered, completed = load["offered"], load["completed"]
    if not offered:
        raise TargetError("a load test sent no request")
    parts = {
        "failed_ratio": (offered - completed) / offered,
        "completed_ratio": completed / offered,
    }
    if completed:
        n = load["provenance"]["workload"]["connections"]
        parts["under_way_ratio"] = load["latency_s"]["mean"] * load["throughput_per_s"] / n
    return parts


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


def pinned(cpu: int, command: Sequence[str]) -> list[str]:
    """Return a command that runs on one core, as all that it begins, and ends with this process.

    Raises:
        AdapterError: Its program is not installed, or others than this user may write it.
    """
    # Before the program begins: what it begins itself inherits it.
    own = own_program(command[0])
    return [sys.executable, "-I", "-S", "-c", _PIN, f"{os.getpid()}", f"{cpu}", own, *command[1:]]


def output_of(command: Sequence[str], *, may_fail: bool = False) -> str:
    """Return what a command says on stdout; it is ended where it takes too long.

    Args:
        command: Program and arguments.
        may_fail: Whether one that said something may end as failed.

    Raises:
        TargetError: It did not run, failed, or took too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            command, capture_output=True, text=True, timeout=_COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"`{command[0]}` did not end well: {error}") from error
    if done.returncode and not (may_fail and done.stdout):
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise TargetError(f"a command ended with {done.returncode}: {''.join(last)}")
    return done.stdout

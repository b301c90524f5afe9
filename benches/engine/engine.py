"""Our engine as a client: jobs for `engine_run`, and what came of them."""

import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benches.engine.process import BenchError, Ended, parsed, run
from benches.engine.setting import Setting
from numpy.typing import NDArray

RUN = (sys.executable, "-P", "-m", "benches.engine.engine_run")
"""By `environment`, and not by the folder that we are in."""
SPIN_S = 60e-6
"""As `httpdyno load` polls before a due time where the client has a core of its own."""
_ENDING_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineRun:
    """One run of the engine in a process of its own."""

    ended: Ended
    said: dict[str, Any]

    @property
    def window(self) -> dict[str, Any]:
        """The last window that it ran."""
        last: dict[str, Any] = self.said["windows"][-1]
        return last

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the whole process, from starting the engine to having its results."""
        return float(self.said["user_s"] + self.said["system_s"])

    def instants_ns(self, column: str) -> NDArray[np.int64]:
        """Return a column of the last window's trace, such as `due_ns`; (n_traced,)."""
        return np.frombuffer(bytes.fromhex(self.window["trace"][column]), dtype=np.int64)

    def record(self) -> dict[str, Any]:
        """Return what belongs into the raw data."""
        window = {
            name: value
            for name, value in self.window.items()
            if name != "trace" and not isinstance(value, list) and not _is_distribution(value)
        }
        return {**self.said, "windows": [window], "stolen_s": self.ended.stolen_s}


def request(
    target: str = "/",
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (),
    body: str = "",
) -> dict[str, Any]:
    """Return a request as `httpdyno load` sends it."""
    usual = [("Host", "127.0.0.1"), ("User-Agent", "httpdyno/0"), ("Accept", "*/*")]
    return {
        "method": method,
        "target": target,
        "headers": [*usual, *headers],
        "body": body,
        "expect_status": 200,
        "expect_length": None,
    }


def even(rate_per_s: float, *, is_poisson: bool = False) -> dict[str, Any]:
    """Return the arrivals of an open loop at a rate that stays."""
    return {"stages": [(math.inf, rate_per_s, rate_per_s)], "is_poisson": is_poisson}


def users(
    *,
    has_cookies: bool = False,
    new_ratio: float = 0.0,
    visit_steps: float = 1.0,
    think_s: float = 0.0,
) -> dict[str, Any]:
    """Return what users do: visits of so many steps, with thought in between."""
    return {
        "has_cookies": has_cookies,
        "new_ratio": new_ratio,
        "n_returning": 1,
        "visit_steps": visit_steps,
        "is_visit_geometric": False,
        "think_s": think_s,
        "is_think_exponential": False,
    }


def job(  # noqa: PLR0913 - the engine's settings, each with what most figures want
    setting: Setting,
    address: str,
    *,
    requests: Sequence[dict[str, Any]] | None = None,
    weights: Sequence[float] | None = None,
    connections: int = 64,
    arrival: dict[str, Any] | None = None,
    duration_s: float,
    lead_in_s: float = 0.0,
    n_requests: int = 0,
    requests_per_connection: int = 0,
    connections_per_s: float = 0.0,
    who: dict[str, Any] | None = None,
    slow: dict[str, Any] | None = None,
    timeout_s: float = 10.0,
    seed: int = 1,
    spin_s: float = SPIN_S,
    n_traced: int = 0,
) -> dict[str, Any]:
    """Return a job, one window of load on one address, in the words of the engine's own spec."""
    table = list(requests or [request()])
    shares = weights or [1.0] * len(table)
    return {
        "arms": [
            {
                "address": address,
                "requests": table,
                "tls": None,
                "steps": [(weight, index, []) for index, weight in enumerate(shares)],
                "connections_per_page": 1,
            }
        ],
        "windows": [
            {
                "arm": 0,
                "lead_in_s": lead_in_s,
                "measure_s": duration_s,
                "n_requests": n_requests,
            }
        ],
        "connections": connections,
        "arrival": arrival,
        "users": who or users(),
        "requests_per_connection": requests_per_connection,
        "connections_per_s": connections_per_s,
        "slow": slow,
        "timeout_s": timeout_s,
        "drain_s": timeout_s,
        "threads": 1,
        "cpus": [setting.client_cpu],
        "seed": seed,
        "spin_s": spin_s if arrival else 0.0,
        "n_traced": n_traced,
    }


def run_engine(  # noqa: PLR0913 - each optional
    setting: Setting,
    what: dict[str, Any],
    *,
    before: Sequence[str] = (),
    timeout_s: float | None = None,
    is_pinned: bool = True,
    on_start: Callable[[int], None] | None = None,
) -> EngineRun:
    """Run a job on the client's core.

    Args:
        setting: Names the core, and the checkout whose engine it is.
        what: The job.
        before: Words before the command, such as `prlimit --nofile=64`.
        timeout_s: It is killed after this long; None is the job's own length and a while.
        is_pinned: Whether the whole process is kept on the client's core.
        on_start: Called with its process number.

    Raises:
        BenchError: The engine failed.
    """
    if timeout_s is None:
        lengths_s = [each["lead_in_s"] + each["measure_s"] for each in what["windows"]]
        timeout_s = sum(lengths_s) + what["drain_s"] + _ENDING_S
    cpu = setting.client_cpu if is_pinned else None
    ended = run(
        [*before, *RUN],
        cpu=cpu,
        stdin=json.dumps(what),
        timeout_s=timeout_s,
        environment=environment(setting.engine),
        on_start=on_start,
    )
    said = parsed(ended)
    if not said["windows"]:
        raise BenchError("the engine ended without a window")
    return EngineRun(ended=ended, said=said)


def environment(checkout: Path) -> dict[str, str]:
    """Return the variables with which Python takes a checkout's engine, and its way to run one."""
    return {"PYTHONPATH": f"{checkout / 'python'}{os.pathsep}{checkout}"}


def check_clean(measured: EngineRun) -> None:
    """Refuse a run in which requests failed: its figure would be about something else.

    Raises:
        BenchError: With what failed.
    """
    if measured.window["errors"]:
        raise BenchError(f"requests failed in a healthy run: {measured.window['errors']}")


def _is_distribution(value: Any) -> bool:
    return isinstance(value, dict) and "bounds_ns" in value

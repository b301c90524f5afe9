"""The origin whose timing is known, as `make test` builds it."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
IS_CI = os.environ.get("CI") == "true"
DEADLINE_S = 10.0


@dataclass(frozen=True)
class Origin:
    """A running origin with known timing."""

    process: subprocess.Popen[str]
    facts: dict[str, Any]
    """Its first line of output."""

    @property
    def address(self) -> str:
        """`ip:port`."""
        return str(self.facts["address"])

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def doors(self) -> list[str]:
        """Where else it listens, as it was told in order; ports are those it got."""
        return [each["address"] for each in self.facts.get("doors", [])[1:]]

    def ask(self, path: str) -> Any:
        """Return what it says of itself under `/oracle/`."""
        connection = http.client.HTTPConnection(self.address, timeout=DEADLINE_S)
        try:
            connection.request("GET", f"/oracle/{path}")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def origin(*arguments: str) -> Iterator[Origin]:
    """Start the origin; it ends when its standard input closes."""
    with subprocess.Popen(
        [str(_program()), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Origin(process=process, facts=json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                raise


def _program() -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    built = [target / profile / "httpdyno-oracle" for profile in ("release", "debug")]
    present = [file for file in built if file.exists()]
    if not present:
        reason = "the oracle is not built: `cargo build -p httpdyno-oracle`"
        if IS_CI:
            pytest.fail(reason)
        pytest.skip(reason)
    return max(present, key=lambda file: file.stat().st_mtime)

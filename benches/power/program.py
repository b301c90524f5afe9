"""Programs that a checkout has, called as people call them, and what they cost the machine."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.figure import Setting

from httpdyno.telemetry.host import steal_s

END_S = 30.0
"""Who is asked to end puts back what it changed first: its servers, its files."""
PATIENCE = 2.0
"""Times what it may take at most: who is not through by then hangs."""
ORACLE = "httpdyno-oracle"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A program that ran to its end."""

    stdout: str
    stderr: str
    took_s: float
    stolen_cores: float

    @property
    def complaint(self) -> str:
        """What it said was wrong, in one line."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return next(
            (line for line in lines if line.startswith("error")), (lines or ["no word"])[-1]
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """What `httpdyno` found, when it was called once."""

    document: dict[str, Any]
    """Its JSON; empty where there is none."""
    trouble: str
    """Why there is none."""
    took_s: float
    stolen_cores: float


def call(setting: Setting, by: str, words: Sequence[str | Path], *, longest_s: float) -> Called:
    """Call the `httpdyno` of a checkout, and return what it found.

    Args:
        setting: Where the checkouts are.
        by: Which of them.
        words: The command line.
        longest_s: What it may take at most.
    """
    out = setting.folder / "out.json"
    out.unlink(missing_ok=True)
    program = setting.trees[by] / ".venv" / "bin" / "httpdyno"
    ended = run(
        [program, *words, "--json", out],
        patience_s=longest_s * PATIENCE,
        folder=setting.folder,
        environment={"HTTPDYNO_STORE": str(setting.folder / f"{by}.db")},
    )
    document = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    is_whole = document.get("status") == "complete"
    return Called(
        document=document if is_whole else {},
        trouble="" if is_whole else document.get("message") or ended.complaint,
        took_s=ended.took_s,
        stolen_cores=ended.stolen_cores,
    )


def run(
    command: Sequence[str | Path],
    *,
    patience_s: float,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program to its end; ask it to end where that takes too long, or where we are asked to.

    Args:
        command: The program and its arguments.
        patience_s: It is ended after this long.
        folder: Where it runs.
        environment: Variables to add.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        stolen_before_s, began_s = steal_s(), time.monotonic()
        child = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env=os.environ | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        try:
            child.wait(patience_s)
        except subprocess.TimeoutExpired:
            end(child)
            err.write(f"\nerror: it did not end within {patience_s:.0f} s\n")
        except BaseException:
            end(child)
            raise
        took_s = time.monotonic() - began_s
        out.seek(0)
        err.seek(0)
        return Ended(
            stdout=out.read(),
            stderr=err.read(),
            took_s=took_s,
            stolen_cores=(steal_s() - stolen_before_s) / max(took_s, 1.0),
        )


def end(child: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    """Ask a program to end as Ctrl-C does, and see to it that it does."""
    try:
        child.send_signal(signal.SIGINT)
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def oracle() -> Path:
    """Return the origin's program: one of known latency hardly works, so any build does.

    Raises:
        BenchError: It is not built.
    """
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    built = [target / profile / ORACLE for profile in ("release", "debug")]
    for file in built:
        if file.exists():
            return file
    raise BenchError("the oracle is not built: `cargo build --release --locked -p httpdyno-oracle`")


def checkout(path: Path) -> Path:
    """Return the whole path of a checkout that has a program.

    Raises:
        BenchError: It has none; with the command that builds it.
    """
    whole = path.resolve()
    if not (whole / ".venv" / "bin" / "httpdyno").exists():
        raise BenchError(f"{path} is no checkout with a program: `make setup` there")
    return whole


def commit(tree: Path) -> str:
    """Return the commit that a checkout has, with a + where files differ from it."""
    words = ["git", "-C", str(tree), "describe", "--always", "--abbrev=12", "--dirty=+"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "unknown"


def python(tree: Path) -> Path:
    """Return the interpreter that has the checkout's package."""
    file = tree / ".venv" / "bin" / "python"
    return file if file.exists() else Path(sys.executable)

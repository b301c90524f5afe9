"""Programs that a checkout has, called as people call them, and what they cost the machine."""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.figure import REFUSED, Setting

from httpdyno.telemetry.kernel import steal_s

END_S = 30.0
"""Who is asked to end puts back what it changed first: its servers, its files."""
PATIENCE = 2.0
"""Times what it may take at most: who is not through by then hangs."""
ORACLE = "httpdyno-oracle"
UNKNOWN = "unknown"
"""In the place of a commit that git does not tell."""
_NO_SENSE = 2
"""The exit code of a program that refuses a request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A program that ran to its end."""

    stdout: str
    stderr: str
    took_s: float
    stolen_cores: float
    status: int = 0
    """Negative: ended by that signal."""

    @property
    def complaint(self) -> str:
        """What it said was wrong, in one line."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        said = next(
            (line for line in lines if line.startswith("error")), (lines or ["no word"])[-1]
        )
        return f"{REFUSED}{said}" if self.status == _NO_SENSE else said


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
    document = _document(out)
    is_whole = document.get("status") == "complete"
    return Called(
        document=document if is_whole else {},
        trouble="" if is_whole else _why(document) or ended.complaint,
        took_s=ended.took_s,
        stolen_cores=ended.stolen_cores,
    )


def _document(file: Path) -> dict[str, Any]:
    """Return a file's JSON; empty where there is none, or where it was cut off."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def first_ready_s(setting: Setting, by: str) -> float:
    """Return what the slower server of the first start of the newest run took to come up.

    A comparison's clock begins before its servers do. 0 where the store does not tell: then nothing
    is taken from what was measured.
    """
    file = setting.folder / f"{by}.db"
    newest = "SELECT payload FROM starts WHERE run_id = (SELECT max(id) FROM runs)"
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
            found = store.execute(f"{newest} ORDER BY comparison, start LIMIT 1").fetchone()
        ready_s = json.loads(found[0])["ready_s"] if found else ()
    except (sqlite3.Error, ValueError, KeyError):
        return 0.0
    return max(ready_s, default=0.0)


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
            status=child.returncode,
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


_WHERE = r"""
import httpdyno, httpdyno._native as native
print(httpdyno.__file__, native.__file__, sep="\n")
"""


def checkout(path: Path) -> Path:
    """Return the whole path of a checkout that has a program of its own.

    Raises:
        BenchError: It has none, with the command that builds it; or what its program runs is of
            another checkout: a copied environment still points to where it came from.
    """
    whole = path.resolve()
    for file in _imported(whole):
        if not file.is_relative_to(whole):
            raise BenchError(f"the program of {path} runs `{file}`: `make setup` there")
    return whole


def _imported(tree: Path) -> tuple[Path, Path]:
    """Return the package and the engine that a checkout's program runs.

    Raises:
        BenchError: It has no program, or one that cannot be run.
    """
    program = tree / ".venv" / "bin" / "httpdyno"
    if not program.exists():
        raise BenchError(f"{tree} is no checkout with a program: `make setup` there")
    # What its own first line names is what runs it, wherever it lies.
    interpreter = program.read_text(encoding="utf-8").splitlines()[0].removeprefix("#!").strip()
    try:
        words = [*interpreter.split(), "-c", _WHERE]
        ended = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BenchError(f"`{program}` cannot be run: {error}; `make setup` there") from error
    package, engine = (Path(each).resolve() for each in ended.stdout.splitlines())
    return package, engine


def engine(tree: Path) -> str:
    """Return which engine a checkout runs: git does not know it, for it is built.

    Raises:
        BenchError: It has none.
    """
    _, file = _imported(tree)
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def commit(tree: Path) -> str:
    """Return the commit that a checkout has, with a + where files differ from it."""
    words = ["git", "-C", str(tree), "describe", "--always", "--abbrev=12", "--dirty=+"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or UNKNOWN


def python(tree: Path) -> Path:
    """Return the interpreter that has the checkout's package.

    Raises:
        BenchError: There is none. Another one would measure another checkout.
    """
    file = tree / ".venv" / "bin" / "python"
    if not file.exists():
        raise BenchError(f"{tree} has no interpreter: `make setup` there")
    return file


def _why(document: Mapping[str, Any]) -> str:
    return "; ".join(each["text"] for each in document.get("ended_by", ()))

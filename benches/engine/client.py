"""The competitors: their commands for the same load, and where they come from."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from benches.engine.process import BenchError, Ended, run
from benches.engine.setting import REPOSITORY, TOOLS

OHA_VERSION = "1.16.0"
VEGETA_VERSION = "v12.13.0"
_VEGETA = "github.com/tsenart/vegeta/v12"
_BUILD_PATIENCE_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Competitor:
    """A load generator that is not ours."""

    name: str
    program: str
    arguments: tuple[str, ...]
    """For a closed loop; `{url}`, `{connections}` and `{seconds}` are put in."""
    errors: str
    """A pattern whose only group counts requests that failed; not found is none."""

    def command(self, address: str, connections: int, duration_s: float) -> list[str]:
        """Return the words that load an address in a closed loop."""
        places = {
            "url": f"http://{address}/",
            "connections": connections,
            "seconds": f"{duration_s:.0f}",
        }
        return [self.program, *(each.format(**places) for each in self.arguments)]

    def check_clean(self, ended: Ended) -> None:
        """Refuse a run in which requests failed.

        Raises:
            BenchError: With how many.
        """
        ended.checked()
        found = re.search(self.errors, ended.stdout)
        if found and any(int(each) for each in found.groups() if each):
            raise BenchError(f"{self.name}: requests failed in a healthy run: {found.group(0)}")


def competitors() -> Sequence[Competitor]:
    """Return those that figure 1 is about, installed.

    Raises:
        BenchError: One is missing and cannot be had.
    """
    return (
        Competitor(
            name="wrk",
            program=_packaged("wrk"),
            arguments=("-t1", "-c{connections}", "-d{seconds}s", "{url}"),
            errors=r"connect (\d+), read (\d+), write (\d+), timeout (\d+)|Non-2xx .*: (\d+)",
        ),
        Competitor(
            name="oha",
            program=oha(),
            arguments=("--no-tui", "-c{connections}", "-z{seconds}s", "{url}"),
            # What is under way at the end is cut off; oha counts that as an error of its own.
            errors=r"(?s)Error distribution:.*?\[(\d+)\] (?!aborted due to deadline)",
        ),
        Competitor(
            name="h2load",
            program=_packaged("h2load", "nghttp2-client"),
            arguments=("--h1", "-t1", "-c{connections}", "-D{seconds}", "{url}"),
            errors=r"(\d+) failed, (\d+) errored, (\d+) timeout",
        ),
    )


def oha() -> str:
    """Return the program oha, built with Cargo when it is not there yet."""
    program = TOOLS / "bin" / "oha"
    if not program.is_file():
        print(f"building oha {OHA_VERSION}: some minutes, once", flush=True)
        run(
            ["cargo", "install", "oha", "--version", OHA_VERSION, "--locked", "--root", str(TOOLS)],
            timeout_s=_BUILD_PATIENCE_S,
            environment={"CARGO_TARGET_DIR": str(TOOLS / "build")},
        ).checked()
        shutil.rmtree(TOOLS / "build", ignore_errors=True)
    return str(program.relative_to(REPOSITORY))


def vegeta() -> str:
    """Return the program vegeta, built with Go when it is not there yet."""
    program, build = TOOLS / "bin" / "vegeta", TOOLS / "build"
    if not program.is_file():
        print(f"building vegeta {VEGETA_VERSION}: a minute, once", flush=True)
        build.mkdir(parents=True, exist_ok=True)
        # `go install` asks for the list of all versions, which not every proxy gives.
        (build / "go.mod").write_text(f"module bench\nrequire {_VEGETA} {VEGETA_VERSION}\n")
        run(
            ["go", "build", "-C", str(build), "-mod=mod", "-o", str(program), _VEGETA],
            timeout_s=_BUILD_PATIENCE_S,
            environment={"GOMODCACHE": str(build / "modules"), "GOFLAGS": "-modcacherw"},
        ).checked()
        shutil.rmtree(build, ignore_errors=True)
    return str(program.relative_to(REPOSITORY))


def _packaged(program: str, package: str = "") -> str:
    if shutil.which(program) is None:
        raise BenchError(
            f"`{program}` is missing: install the Debian package {package or program} "
            "(`packaging/install-debian-packages packaging/bench-packages.txt` as root)"
        )
    return program

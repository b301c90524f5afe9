"""A seat for tests: programs see their files as they are, and what a copy has is in a folder."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import ProgramOutput
from httpdyno.model import Configuration, Level, Member, Survey
from httpdyno.report.shared import message
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.copy import PhpFpmInsight
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root, remove_place
from httpdyno.servers.stack.adapter import Launch, MemberFiles
from httpdyno.servers.stack.snapshot import edited_files


@dataclass(frozen=True, slots=True)
class FolderSeat:
    """Keeps nothing apart but paths and unix sockets."""

    place: Place
    kind: str = "open"

    @property
    def is_root(self) -> bool:
        return os.geteuid() == 0

    @property
    def folder(self) -> Path:
        return self.place.folder

    @property
    def memory_folder(self) -> Path:
        return self.place.memory_folder

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> ProgramOutput:
        try:
            done = subprocess.run(
                command,
                env=dict(environment),
                cwd=folder,
                timeout=timeout_s,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise AdapterError(f"`{command[0]}` cannot be run: {error.strerror}") from error
        return ProgramOutput(exit_code=done.returncode, output=done.stdout, errors=done.stderr)

    def port(self, address: str) -> str:
        assert address.startswith("unix:")
        return f"unix:{self.folder}/{Path(address).name}"

    def path(self, path: str) -> str:
        return f"{self.folder}/theirs{path}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """A running private copy."""

    process: ServerProcess
    seat: FolderSeat
    survey: Survey
    files: MemberFiles
    member: Member
    launch: Launch

    def fresh(self) -> PhpFpmInsight:
        """Return an insight that has asked nothing yet."""
        assert self.launch.insight is not None
        insight = self.launch.insight(self.process)
        assert isinstance(insight, PhpFpmInsight)
        return insight

    def reload(self) -> None:
        """Let it read its files again, as `systemctl reload` does."""
        os.kill(self.process.pid, signal.SIGUSR2)

    def break_files(self, old: str, new: str) -> None:
        """Replace a text in the copy's files by hand."""
        for path in self.files.texts:
            file = Path(self.seat.path(path))
            file.write_text(file.read_text().replace(old, new))

    def write(self, values: Mapping[str, Level]) -> None:
        """Put values into the copy's files, from those that were found."""
        write_files(self.seat, self.survey, self.files, values)


def write_files(
    seat: FolderSeat, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
) -> None:
    adapter = PhpFpm()
    changes = adapter.change_set(survey, files, values)
    edits = [*adapter.private(survey, files, seat), *changes.edits]
    added = {path: text.encode() for path, text in changes.added.items()}
    for path, text in {**files.texts, **edited_files(files.texts, edits), **added}.items():
        target = Path(seat.path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)


@contextmanager
def seated() -> Iterator[FolderSeat]:
    with new_run_root() as root:
        place = root.new_place("php")
        try:
            yield FolderSeat(place)
        finally:
            remove_place(place)


@contextmanager
def copy_of(member: Member, values: Mapping[str, Level]) -> Iterator[Copy]:
    """Start a private copy; its end is looked at, too."""
    adapter = PhpFpm()
    with seated() as seat:
        files = adapter.read(member)
        survey = adapter.survey(member, files, seat)
        assert not isinstance(survey, NotRunning), message.text(survey.detail)
        changes = adapter.change_set(survey, files, values)
        write_files(seat, survey, files, values)
        launch = adapter.launch(member, survey, seat, Configuration(values=dict(values)), changes)
        process = ServerProcess.spawn(
            launch.command,
            place=seat.place,
            environment={**launch.environment, "PATH": os.defpath},
            log=seat.folder / "php.log",
        )
        try:
            yield Copy(
                process=process,
                seat=seat,
                survey=survey,
                files=files,
                member=member,
                launch=launch,
            )
        finally:
            process.stop()
            assert not Path(f"/proc/{process.pid}").exists()

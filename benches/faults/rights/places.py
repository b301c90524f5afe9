"""He was there before: where httpdyno keeps its runs, where root writes, and whom it ends."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benches.faults.rights.evidence import Harm, Kind
from benches.faults.rights.stage import Stage, bystanders
from benches.faults.rights.way import way

from httpdyno.host.process_identity import boot_id
from httpdyno.servers.run.live_process import MARK, process_info

_DEFAULT_ROOTS = {"HTTPDYNO_RUN_DIR": "/var/tmp"}


def _his_folder(stage: Stage, path: str) -> Path:
    folder = Path(path)
    folder.mkdir(parents=True)
    os.chown(folder, stage.user, stage.user)
    stage.closing.callback(_removed, folder)
    return folder


def _removed(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()


def _record(pids: list[int], memory: Path) -> str:
    """Return a record of a run that is gone, whose servers these are said to be."""
    ticks = {pid: info.started_ticks for pid in pids if (info := process_info(pid))}
    head = {"pid": 2**21, "started_ticks": 1, "boot": boot_id(), "memory_folder": str(memory)}
    lines = [{"leader": pid, "started_ticks": each} for pid, each in ticks.items()]
    return "".join(f"{json.dumps(each)}\n" for each in (head, *lines))


@way
def _roots_that_he_made(stage: Stage) -> None:
    """Before root's first run he made its folders, with a record that names others' processes."""
    for top in ("/var/tmp", "/dev/shm"):
        root = _his_folder(stage, f"{top}/httpdyno-0")
        run = _his_folder(stage, f"{root}/run-2097152-1-aaaaaaaa")
        (run / "owner.jsonl").write_text(_record(bystanders(stage), stage.root_only))
        (run / "lock").touch()
        for path in (run / "owner.jsonl", run / "lock"):
            os.chown(path, stage.user, stage.user)
    stage.root("history", environment=_DEFAULT_ROOTS)
    stage.root("study", "check", "bookmarks", environment=_DEFAULT_ROOTS)


@way
def _roots_that_are_links(stage: Stage) -> None:
    """Where root's run folders would be made he made links to root's folder."""
    for path in ("/var/tmp/httpdyno-0", "/dev/shm/httpdyno-0", "/var/tmp/httpdyno-0-1"):
        if os.path.lexists(path):  # of a way before, and root's by now
            continue
        os.symlink(stage.root_only, path)
        os.chown(path, stage.user, stage.user, follow_symlinks=False)
        stage.closing.callback(os.unlink, path)
    stage.root("history", environment=_DEFAULT_ROOTS)
    stage.root("study", "check", "bookmarks", environment=_DEFAULT_ROOTS)


@way
def _runs_in_a_folder_of_his(stage: Stage) -> None:
    """Root's runs are set to a folder of his, in which a record names others' processes."""
    run = stage.home / "runs/run-2097152-1-aaaaaaaa"
    stage.his(
        "runs/run-2097152-1-aaaaaaaa/owner.jsonl", _record(bystanders(stage), stage.root_only)
    )
    stage.link("runs/run-2097152-1-aaaaaaaa/memory", stage.root_only)
    stage.give(run)
    there = {"HTTPDYNO_RUN_DIR": str(stage.home / "runs")}
    stage.root("history", environment=there)
    stage.root("study", "check", "bookmarks", environment=there)


@way
def _marks_of_a_run_that_was_killed(stage: Stage) -> None:
    """A killed run of root's is cleared: others have its log open, or stand in its folder."""
    with _served(stage) as (process, run):
        process.kill()
        process.wait()
        holders = _holders(stage, run)
        # He has its mark; being his own, he may have himself ended.
        stage.runs("/usr/bin/sleep", "600", environment={MARK: str(run)})
        stage.root("history")
    _see(stage, holders)


@way
def _bystanders_of_a_run_that_ends(stage: Stage) -> None:
    """Root's run comes to its end: others have its log open, or stand in its folder."""
    with _served(stage) as (process, run):
        holders = _holders(stage, run)
        process.send_signal(signal.SIGTERM)
        process.wait()
    _see(stage, holders)


@contextmanager
def _served(stage: Stage) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """Have root serve a study; its process and run folder are given."""
    process = subprocess.Popen(
        [*stage.program, "study", "serve", "bookmarks"],
        cwd=stage.work,
        env={**os.environ, **stage.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise RuntimeError("nothing is served, so nothing was tried")
        yield process, next((stage.folder / "run").glob("run-*"))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _holders(stage: Stage, run: Path) -> list[int]:
    log = next((path for path in run.rglob("*.log") if path.is_file()), run / "owner.jsonl")
    return [
        stage.runs("/usr/bin/tail", "-f", log, cwd=Path("/"), user=0),
        stage.runs("/usr/bin/sleep", "600", cwd=log.parent, user=0),
    ]


def _see(stage: Stage, holders: list[int]) -> None:
    for pid in holders:
        # Who ended and is waited for by nobody yet has no words.
        if not Path(f"/proc/{pid}/cmdline").read_bytes():
            stage.harms.add(Harm(kind=Kind.ENDED, what="who holds a file or folder of a run"))


@way
def _folder_for_a_study(stage: Stage) -> None:
    """Where root has a study made, he has made a link to nowhere yet, in root's folder."""
    target = stage.root_only / "made-by-root"
    stage.root(
        *("study", "new", "command", "-o", stage.link("new", target)),
        *("--", "/usr/bin/python3", "-m", "http.server", "{port}"),
    )
    config = stage.folder / "nginx.conf"
    config.write_text("events {}\nhttp { server { listen 127.0.0.1:18081; } }\n")
    stage.root("adopt", config, "--get", "/", "-o", stage.link("shop", target))


@way
def _files_that_root_writes(stage: Stage) -> None:
    """Where root has a report or JSON written, he has made links to root's file."""
    stage.serves("plain")
    stage.root("load", f"{stage.url}/", "-n", "20", "--json", stage.link("out-load", stage.secret))
    for option in ("--html", "--json"):
        stage.root("report", option, stage.link(f"out{option}", stage.secret))
    for command in ("inspect", "doctor", "machine", "history"):
        stage.root(command, "--json", stage.link(f"out-{command}", stage.secret))


@way
def _store_in_a_folder_of_his(stage: Stage) -> None:
    """Root's store is set to a folder of his: links and FIFOs stand in it."""
    for name in ("httpdyno.sqlite", "store.sqlite", "httpdyno.db", "store.sqlite-wal", "lock"):
        stage.link(f"data/{name}", stage.secret)
    stage.give(stage.home / "data")
    there = {"HTTPDYNO_DATA_DIR": str(stage.home / "data")}
    for command in (("history",), ("report",), ("book",), ("machine",)):
        stage.root(*command, environment=there)

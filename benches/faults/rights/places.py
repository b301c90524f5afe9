"""He was there before: where httpdyno keeps its runs, where root writes, and whom it ends."""

import json
import os
import signal
import time
from pathlib import Path

from benches.faults.rights.evidence import Harm, Kind
from benches.faults.rights.stage import Stage
from benches.faults.rights.way import way

from httpdyno.boot import boot_id
from httpdyno.servers.live_process import MARK, process_info

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


def _bystanders() -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        found += [int(name)] if words.startswith(b"bystander") else []
    return found


@way
def _roots_that_he_made(stage: Stage) -> None:
    """Before root's first run he made its folders, with a record that names others' processes."""
    for top in ("/var/tmp", "/dev/shm"):
        root = _his_folder(stage, f"{top}/httpdyno-0")
        run = _his_folder(stage, f"{root}/run-2097152-1-aaaaaaaa")
        (run / "owner.jsonl").write_text(_record(_bystanders(), stage.root_only))
        (run / "lock").touch()
        for path in (run / "owner.jsonl", run / "lock"):
            os.chown(path, stage.user, stage.user)
    stage.root("history", environment=_DEFAULT_ROOTS)
    stage.root("study", "check", "bookmarks", environment=_DEFAULT_ROOTS)


@way
def _roots_that_are_links(stage: Stage) -> None:
    """Where root's run folders would be made he made links to root's folder."""
    for path in ("/var/tmp/httpdyno-0", "/dev/shm/httpdyno-0", "/var/tmp/httpdyno-0-1"):
        os.symlink(stage.root_only, path)
        os.chown(path, stage.user, stage.user, follow_symlinks=False)
        stage.closing.callback(os.unlink, path)
    stage.root("history", environment=_DEFAULT_ROOTS)
    stage.root("study", "check", "bookmarks", environment=_DEFAULT_ROOTS)


@way
def _runs_in_a_folder_of_his(stage: Stage) -> None:
    """Root's runs are set to a folder of his, in which a record names others' processes."""
    run = stage.home / "runs/run-2097152-1-aaaaaaaa"
    stage.his("runs/run-2097152-1-aaaaaaaa/owner.jsonl", _record(_bystanders(), stage.root_only))
    stage.link("runs/run-2097152-1-aaaaaaaa/memory", stage.root_only)
    stage.give(run)
    there = {"HTTPDYNO_RUN_DIR": str(stage.home / "runs")}
    stage.root("history", environment=there)
    stage.root("study", "check", "bookmarks", environment=there)


@way
def _marks_that_he_forged(stage: Stage) -> None:
    """A killed run of root's is cleared; a bystander holds its file, stands in it, has its mark."""
    served = _killed_serve(stage)
    if served is None:
        stage.blinded("`study serve` did not come up, so nothing was tried")
        return
    log = next((path for path in served.rglob("*") if path.is_file()), served / "owner.jsonl")
    other = stage.runs("/usr/bin/sleep", "600", environment={MARK: str(served)})
    holders = [
        stage.runs("/usr/bin/tail", "-f", log, cwd=Path("/"), user=0),
        stage.runs("/usr/bin/sleep", "600", cwd=served, user=0),
    ]
    stage.root("history")
    for pid in holders:
        if process_info(pid) is None or Path(f"/proc/{pid}/cmdline").read_bytes() == b"":
            stage.harms.add(Harm(kind=Kind.ENDED, what="who has a file of a run open"))
    del other  # his own, with a mark that he gave it: he may have it ended


def _killed_serve(stage: Stage) -> Path | None:
    """Have root serve a study, and kill it; return its run folder."""
    import subprocess

    process = subprocess.Popen(
        [*stage.program, "study", "serve", "bookmarks"],
        cwd=stage.work,
        env={**os.environ, **stage.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return next((stage.folder / "run").glob("run-*"), None)


@way
def _bystanders_of_a_run_that_ends(stage: Stage) -> None:
    """While root serves a study others have its log open, or stand in its folder."""
    import subprocess

    process = subprocess.Popen(
        [*stage.program, "study", "serve", "bookmarks"],
        cwd=stage.work,
        env={**os.environ, **stage.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    run = next((stage.folder / "run").glob("run-*"))
    log = next((path for path in run.rglob("*.log") if path.is_file()), run / "owner.jsonl")
    holders = [
        stage.runs("/usr/bin/tail", "-f", log, cwd=Path("/"), user=0),
        stage.runs("/usr/bin/sleep", "600", cwd=log.parent, user=0),
    ]
    process.send_signal(signal.SIGTERM)
    process.wait()
    process.stdout.close()
    for pid in holders:
        try:
            is_gone = Path(f"/proc/{pid}/cmdline").read_bytes() == b""
        except OSError:
            is_gone = True
        if is_gone:
            stage.harms.add(Harm(kind=Kind.ENDED, what="who has a file of a run open"))


@way
def _folder_for_a_study(stage: Stage) -> None:
    """Where root has a study made, he has made a link to nowhere yet, in root's folder."""
    target = stage.root_only / "made-by-root"
    stage.root("study", "new", stage.link("new", target))
    config = stage.folder / "nginx.conf"
    config.write_text("events {}\nhttp { server { listen 127.0.0.1:18081; } }\n")
    stage.root("adopt", config, "--get", "/", "-o", stage.link("shop", target))


@way
def _files_that_root_writes(stage: Stage) -> None:
    """Where root has a report or JSON written, he has made links to root's file."""
    stage.root("study", "run", "bookmarks", "--budget", "4s", within_s=90)
    for option in ("--html", "--json", "--diff"):
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

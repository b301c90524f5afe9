"""An attacker with an account, against every command of root's.

Each way is a function that sets a stage and has root run commands; what came of it is seen by
evidence alone. All of it happens in namespaces of its own, so that neither his programs nor what
is done to them meet anybody else's.

    python -m benches.faults --only rights
    python -m benches.faults.rights --said htaccess    those of that name, at length
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benches.faults.family import Count
from benches.faults.rights.evidence import Kind

_REPOSITORY = Path(__file__).parents[3]
INSIDE = "FAULTS_RIGHTS_INSIDE"
"""Set where this runs in its own namespaces: a folder on disk for what it writes."""
_NEEDS = ("unshare", "cc", "nginx", "apache2", "php-fpm8.2")


def measure(n: int, seed: int) -> Iterator[Count]:
    """Try the first n ways."""
    del seed
    missing = [name for name in _NEEDS if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        why = f"skipped: needs root, and {', '.join(_NEEDS)}"
        yield Count(name="ways tried", value=0, n=0, note=why)
        return
    tried: list[str] = []
    harms: list[tuple[str, str]] = []
    with (
        own_folder() as folder,
        subprocess.Popen(
            inside(folder, "--json", "--first", str(n)),
            cwd=_REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                found = json.loads(line)
                tried.append(found["way"])
                harms += [(kind, f"{found['way']}: {what}") for kind, what in found["harms"]]
                first = found["harms"][0][1] if found["harms"] else ""
                yield Count(name=found["way"], value=len(found["harms"]), n=1, note=first)
        finally:
            process.kill()  # all that is in there ends with it
    if len(tried) < n:
        yield Count(name="ways that were not tried", value=n - len(tried), n=n, note="it broke off")
    for kind in Kind:
        of_kind = [what for each, what in harms if each == kind.value]
        note = of_kind[0] if of_kind else ""
        yield Count(name=kind.value, value=len(of_kind), n=len(tried), note=note)


def own_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder on disk: servers are told what lies in memory from what does not."""
    return tempfile.TemporaryDirectory(prefix="faults-rights-", dir="/var/tmp")


def inside(folder: str, *words: str) -> list[str]:
    """Return the command that runs this in namespaces of its own, with such arguments."""
    namespaces = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc")
    # The first process there takes in those whose parents have gone, which Python does not.
    program = f'{INSIDE}="$1"; export {INSIDE}; shift; "$@"; exit $?'
    python = [sys.executable, "-m", "benches.faults.rights", *words]
    return ["unshare", *namespaces, "sh", "-c", program, "sh", folder, *python]

"""Try ways in the namespaces that this is in; by itself it goes into some first."""

import argparse
import json
import os
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path

from benches.faults.rights import INSIDE, inside, own_folder
from benches.faults.rights.stage import set_stage
from benches.faults.rights.way import WAYS, Way

_MODULES = ("found_programs", "named_files", "copies", "studies", "places", "answers")
_OPEN_TO_ALL = tuple(map(Path, ("/tmp", "/var/tmp", "/dev/shm")))
_IN_MEMORY = ("/dev/shm", "/run/systemd")
_ON_DISK = ("/tmp", "/srv", "/var/tmp")
"""Where everybody may write, or ways do: each has its own here."""


def main() -> int:
    """Try what was asked for; 1 where harm was done."""
    parser = argparse.ArgumentParser(prog="python -m benches.faults.rights", description=__doc__)
    parser.add_argument("names", nargs="*", help="of ways or of modules; all, where none is said")
    parser.add_argument("--first", type=int, help="so many of them")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--said", action="store_true", help="show what root was told, too")
    wanted = parser.parse_args()
    if INSIDE not in os.environ:
        with own_folder() as folder:
            return subprocess.run(inside(folder, *sys.argv[1:]), check=False).returncode
    own = Path(os.environ.pop(INSIDE))  # it is no business of what runs here
    for module in _MODULES:
        import_module(f"benches.faults.rights.{module}")
    ways = [way for way in WAYS if not wanted.names or any(map(way.is_called, wanted.names))]
    if wanted.list:
        print("".join(f"{way.name}: {way.about}\n" for way in ways), end="")
        return 0
    _have_own_places(own)
    is_harmed = False
    for way in ways[: wanted.first]:
        harms = _tried(way, wanted.said)
        is_harmed |= bool(harms)
        if wanted.json:
            print(json.dumps({"way": way.name, "harms": harms}), flush=True)
        else:
            print(f"{way.name}: {'HARM' if harms else 'nothing'}", flush=True)
            print("".join(f"    {kind}: {what}\n" for kind, what in harms), end="", flush=True)
    return int(is_harmed)


def _have_own_places(own: Path) -> None:
    for path in _IN_MEMORY:
        Path(path).mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
    for path in _ON_DISK:
        there = own / path.strip("/").replace("/", "-")
        there.mkdir()
        there.chmod(0o1777 if path.endswith("tmp") else 0o755)
        subprocess.run(["mount", "--bind", there, path], check=True)
    Path("/dev/shm").chmod(0o1777)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _tried(way: Way, is_said: bool) -> list[tuple[str, str]]:
    try:
        with set_stage(open_to_all=_OPEN_TO_ALL) as stage:
            way.go(stage)
    except Exception as error:
        # A way that broke has shown nothing, and must not pass for one that was held.
        traceback.print_exc()
        return [("commands that hang or end as a bug", f"the way itself broke: {error!r}")]
    if is_said:
        print("\n".join(stage.outputs), flush=True)
    short = str(stage.folder)
    return sorted((harm.kind.value, harm.what.replace(short, "…")) for harm in stage.harms)


if __name__ == "__main__":
    sys.exit(main())

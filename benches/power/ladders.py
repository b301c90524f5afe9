"""What a ladder finds: knobs that are known to help, among others that do nothing.

`ladder` is a gunicorn with two real knobs and four placebos, `pool` an Apache of 150 processes
with two of each. Each run is one `httpdyno tune`; what a real knob is worth is drawn anew each
time, within a fifth of what is said.

Example:
    .venv/bin/python -m benches.power.ladders --runs 10
    .venv/bin/python -m benches.power.ladders --only pool --runs 3 --beside ../before
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from httpdyno.telemetry.host import steal_s

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
SPREAD = 0.2


@dataclass(frozen=True)
class Ladder:
    """A study to tune, and what must come of it."""

    name: str
    budget: str
    worth: dict[str, float]
    """By how much more a real knob lets through, in work that it saves; drawn around this."""
    least_kept: float
    """The share of real knobs that must be kept."""
    most_kept: float
    """The share of placebos that may be."""


LADDERS = (
    Ladder("ladder", "150s", {"large": 0.24, "small": 0.08}, 0.9, 0.05),
    Ladder("pool", "150s", {"cache": 1.0, "compiled": 0.15}, 1.0, 0.05),
)


def main() -> int:
    arguments = parsed()
    trees = {"this": REPOSITORY}
    if arguments.beside:
        trees["before"] = arguments.beside.resolve()
    draw = random.Random(arguments.seed)
    kept: dict[tuple[str, str], list[Counter[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.runs):
            for ladder in LADDERS:
                if ladder.name not in arguments.only:
                    continue
                saved = {
                    knob: 1 - 1 / (1 + worth * draw.uniform(1 - SPREAD, 1 + SPREAD))
                    for knob, worth in ladder.worth.items()
                }
                study = written(ladder, saved, Path(folder) / f"{ladder.name}-{number}")
                for by in draw.sample(sorted(trees), len(trees)):
                    found = tuned(trees[by], by, study, ladder, saved)
                    kept.setdefault((ladder.name, by), []).append(found)
    are_met = [told(name, by, runs) for (name, by), runs in kept.items()]
    return 0 if all(are_met) else 1


def written(ladder: Ladder, saved: dict[str, float], folder: Path) -> Path:
    """Return a copy of the study in which the knobs save so much of the work."""
    shutil.copytree(HERE / ladder.name, folder)
    if ladder.name == "ladder":
        shutil.copytree(HERE / "site" / "app", folder / "app")
    for file in ("study.toml", "app.conf.j2"):
        if (folder / file).exists():
            text = (folder / file).read_text(encoding="utf-8")
            for knob, share in saved.items():
                text = text.replace(f'"{knob.upper()}"', f"{share:.4f}")
            (folder / file).write_text(text, encoding="utf-8")
    return folder


def tuned(
    tree: Path, by: str, study: Path, ladder: Ladder, saved: dict[str, float]
) -> Counter[str]:
    """Return how many real knobs and placebos were kept, and how many there were."""
    out = study / f"{by}.json"
    command = [tree / ".venv/bin/httpdyno", "tune", study, "--budget", ladder.budget]
    own = {"HTTPDYNO_STORE": str(study / f"{by}.db")}
    stolen_before_s = steal_s()
    ended = subprocess.run(
        [*command, "--json", out], env=os.environ | own, capture_output=True, text=True, check=False
    )
    if not out.exists():
        print(f"{ladder.name} {by}: {ended.stderr.strip()[:300]}", flush=True)
        n_real = len(ladder.worth)
        return Counter({"real": n_real, "placebos": 4 if ladder.name == "ladder" else 2})
    document = json.loads(out.read_text(encoding="utf-8"))
    kept = {step["knob"] for step in document["steps"] if step["kept"]}
    tried = {step["knob"] for step in document["steps"]}
    names = set(document["configuration"])
    placebos = names - set(ladder.worth)
    final = (document["final"] or {}).get("throughput_ratio") or {}
    truth = 1.0
    for knob in kept & set(saved):
        truth /= 1 - saved[knob]
    words = ", ".join(f"{knob} {1 / (1 - share) - 1:+.1%}" for knob, share in saved.items())
    print(
        f"{ladder.name:<6} {by:<6} real: {words}; kept {', '.join(sorted(kept)) or 'none'}, "
        f"{len(tried)} of {len(names)} tried; final {final.get('ratio', 0):.3f} "
        f"({final.get('low', 0):.3f} … {final.get('high', 0):.3f}; the work alone {truth:.3f}), "
        f"{document['duration_s']:.0f} s, host took "
        f"{(steal_s() - stolen_before_s) / max(1.0, document['duration_s']):.2f} cores",
        flush=True,
    )
    return Counter(
        {
            "real": len(ladder.worth),
            "real kept": len(kept & set(ladder.worth)),
            "placebos": len(placebos),
            "placebos kept": len(kept & placebos),
        }
    )


def told(name: str, by: str, runs: list[Counter[str]]) -> bool:
    """Say what came of a ladder, and return whether it is what it must be."""
    ladder = next(each for each in LADDERS if each.name == name)
    total: Counter[str] = Counter()
    for each in runs:
        total.update(each)
    is_met = (
        total["real kept"] >= ladder.least_kept * total["real"]
        and total["placebos kept"] <= ladder.most_kept * total["placebos"]
    )
    print(
        f"{'met' if is_met else 'missed':<6} {name} by {by}: real knobs kept "
        f"{total['real kept']} of {total['real']}, placebos {total['placebos kept']} of "
        f"{total['placebos']}, {len(runs)} runs"
    )
    return is_met


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [ladder.name for ladder in LADDERS]
    parser.add_argument("--only", choices=names, action="append", help="[each]")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of each [10]")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout, built")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), metavar="N")
    arguments = parser.parse_args()
    arguments.only = arguments.only or names
    return arguments


if __name__ == "__main__":
    sys.exit(main())

"""Do httpdyno harm on a large scale, and count what gets through: one line for each count.

Exit code 0 when every count is within its bound, 1 when one is not, 2 when the request makes no
sense. Small versions of the same are tests; this is for the long tail.
"""

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from benches.faults.family import FAMILIES

_TERMINATED = 128 + signal.SIGTERM


def main() -> int:
    """Run the families that were asked for; return the exit code."""
    arguments = _parsed()
    # Ended from outside it still removes its folders and ends what it started.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(_TERMINATED))
    rows: list[dict[str, object]] = []
    is_good = True
    for name in arguments.only:
        family = FAMILIES[name]
        n = arguments.n or (family.n_quick if arguments.quick else family.n)
        print(f"{name}: {family.about} (n {n})", flush=True)
        began_s = time.monotonic()
        for count in family.load()(n, arguments.seed):
            is_good &= count.is_good
            rows.append({"family": name, "name": count.name, "value": count.value, "n": count.n})
            print(f"  {count.line()}", flush=True)
        print(f"  took {time.monotonic() - began_s:.0f} s", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if is_good else 1


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benches.faults", description=__doc__)
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(FAMILIES),
        help=f"families, with commas between: {', '.join(FAMILIES)}",
    )
    parser.add_argument("--quick", action="store_true", help="a few of each, in a minute or two")
    parser.add_argument("--n", type=int, help="how many of each, in place of a family's own number")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn is repeatable (1)")
    parser.add_argument("--json", type=Path, help="write all counts here")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.only if name not in FAMILIES]:
        parser.error(f"no family is called {unknown[0]}; there are {', '.join(FAMILIES)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())

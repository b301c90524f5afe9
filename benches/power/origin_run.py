"""Compare two origins of known latency by the httpdyno of the interpreter that runs this.

It is run by the interpreter of a checkout, with what is to be done as JSON, and answers in JSON.
How that checkout's engine and experiments are driven at origins, its own `benches/windows` knows.
"""

import json
import math
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType, SimpleNamespace

from httpdyno.model import Method


def main() -> int:
    """Do what the first argument says, and print what came of it."""
    job = json.loads(sys.argv[1])
    windows = loaded(Path(job["windows"]))
    # What a study has that says nothing, in the words of that checkout.
    method = Method()
    case = windows.Case(
        kinds=tuple(job["kinds"]),
        latencies_ms=tuple(job["latencies_ms"]),
        users=job["users"],
        think_s=0.0,
        window_s=method.window_s,
        seed=job["seed"],
    )
    address_of = dict(
        zip(zip(case.kinds, case.latencies_ms, strict=True), job["addresses"], strict=True)
    )
    origins = SimpleNamespace(address=lambda *side: address_of[side])
    blocks = method.blocks_per_start
    how = SimpleNamespace(budget=job["budget"], blocks=blocks, count_ends=False)
    print(json.dumps(windows.measured(case, origins, windows.Turnstile(math.inf), how)))
    return 0


def loaded(file: Path) -> ModuleType:
    """Return a program as a module."""
    loader = SourceFileLoader("windows", str(file))
    spec = spec_from_loader(loader.name, loader)
    if spec is None:
        raise ImportError(f"`{file}` cannot be loaded")
    module = module_from_spec(spec)
    # Its dataclasses look themselves up there.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())

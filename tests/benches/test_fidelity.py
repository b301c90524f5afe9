"""The bench of copies: what it says of ratios that are known."""

import math
from importlib import import_module

import pytest

told = import_module("benches.fidelity.__main__").told

SPREAD = (0.9995, 1.0, 1.0005) * 6


def logs(cell, again=1.0):
    ratios = {"again": again, "cell": cell}
    return {
        ("static", name): [math.log(ratio * noise) for noise in SPREAD]
        for name, ratio in ratios.items()
    }


@pytest.mark.parametrize(
    ("cell", "exit_code", "word"),
    [(1.0, 0, "within ±1%: shown"), (1.05, 1, "not shown"), (1.0099, 1, "not shown")],
)
def test_a_copy_is_near_only_where_its_whole_interval_is(cell, exit_code, word, capsys):
    assert told(logs(cell), 1.0) == exit_code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith(word)
    assert f"{cell:.4f} ×" in lines[-1]
    assert "within" not in lines[-2], "what chance does has no aim"


@pytest.mark.parametrize("n_starts", [0, 1, 2])
def test_few_starts_show_nothing(n_starts, capsys):
    few = {key: values[:n_starts] for key, values in logs(1.0).items()}
    assert told(few, 1.0) == 1
    assert "budget" in capsys.readouterr().out

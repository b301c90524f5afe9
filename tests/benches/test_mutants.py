"""The ways of breaking the engine still find what they break, wherever it has moved."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def loaded():
    loader = SourceFileLoader("mutants", str(REPOSITORY / "benches" / "mutants"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Where dataclasses look for the module of a class.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


MUTANTS = loaded()


@pytest.mark.parametrize("mutant", MUTANTS.MUTANTS, ids=lambda each: each.name)
def test_each_mutant_fits_one_function_and_changes_it(mutant):
    ((file, text),) = MUTANTS.fitting(REPOSITORY, mutant)
    assert text != file.read_text()


def test_a_function_is_found_by_name_and_by_what_stands_beside(tmp_path):
    file = tmp_path / "crates" / "load" / "src" / "moved" / "here.rs"
    file.parent.mkdir(parents=True)
    file.write_text(
        "impl One {\n    pub(super) fn end(&self) {\n        a +=\n            1;\n    }\n}\n\n"
        "impl Other {\n    fn end(&self) {\n        a += 1;\n        beside();\n    }\n\n"
        "    fn ending(&self) {\n        a += 1;\n        beside();\n    }\n}\n"
    )
    mutant = MUTANTS.Mutant("any", "a lie", "end", r"a \+= 1;", "a += 2;")
    assert len(MUTANTS.fitting(tmp_path, mutant)) == 2
    beside = MUTANTS.Mutant("any", "a lie", "end", r"a \+= 1;", "a += 2;", beside=r"beside\(\)")
    ((_, text),) = MUTANTS.fitting(tmp_path, beside)
    assert text.count("a += 2;\n        beside();") == 1

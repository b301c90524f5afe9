"""What the bench of what a budget proves keeps in files."""

import pytest
from benches.engine.process import BenchError
from benches.power.figure import THIS
from benches.power.planted import Compared
from benches.power.saved import Earlier, Saved, earlier, save
from tests.benches.power_shown import made

NOW = {THIS: "abc"}
ENGINE = {THIS: "e1"}


def compared(**of_it):
    return made(Compared, of_it)


def saved(**of_it):
    given = {"seeds": (1,), "commits": NOW, "engines": ENGINE, "machine": {}}
    return Saved(**given | {"shown": [compared()], "told": ["1 met"]} | of_it)


def test_what_is_saved_can_be_read_again_and_by_nobody_of_another_version(tmp_path):
    file = tmp_path / "new" / "part.json"
    save(file, saved())
    assert earlier([file, file], NOW, ENGINE) == Earlier(shown=(compared(),), seeds=(1,))
    assert [each.name for each in file.parent.iterdir()] == ["part.json"]
    with pytest.raises(BenchError, match="of this at abc, which is def now"):
        earlier([file], {THIS: "def"}, ENGINE)
    with pytest.raises(BenchError, match="of this with another engine"):
        earlier([file], NOW, {THIS: "e2"})
    file.write_text("[]")
    with pytest.raises(BenchError, match="holds no figures"):
        earlier([file], NOW, ENGINE)


@pytest.mark.parametrize("version", ["abc+", "unknown"])
def test_a_part_that_does_not_say_of_which_version_it_is_counts_nowhere(tmp_path, version):
    file = tmp_path / "part.json"
    save(file, saved(commits={THIS: version}))
    with pytest.raises(BenchError, match="which version, it does not say"):
        earlier([file], {THIS: version}, ENGINE)


def test_parts_that_hold_the_same_count_it_once(tmp_path):
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    mine = [compared(seed=1, number=n, by=by) for n in range(3) for by in (THIS, "before")]
    again = [compared(seed=2, number=n) for n in range(2)]
    save(one, saved(shown=mine))
    save(other, saved(shown=mine + again, seeds=(1, 2)))
    found = earlier([one, other, one], NOW, ENGINE)
    assert list(found.shown) == mine + again
    assert found.seeds == (1, 2)

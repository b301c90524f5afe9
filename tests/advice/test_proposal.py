import pytest
from msgspec import structs
from tests.words import words

from httpdyno.advice.proposal import MOST_TRIED, KnobProposal, chosen
from httpdyno.model import KnobInfo
from httpdyno.reason import because


def info(effect="pure"):
    return KnobInfo(name="any", summary="any", kind="integer", effect=effect)


def proposal(name, prior=0.5, blocked=None):
    return KnobProposal(name=name, start=1, levels=(2,), prior=prior, blocked=blocked)


def test_the_likeliest_come_first_and_no_more_than_a_ladder_can_decide():
    names = [f"front:k{number}" for number in range(MOST_TRIED + 2)]
    proposed = [proposal(name, prior=0.5 + number / 100) for number, name in enumerate(names)]
    found = chosen(proposed, dict.fromkeys(names, info()))
    assert [each.name for each in found.tried] == names[::-1][:MOST_TRIED]
    assert [each.name for each in found.listed] == names[1::-1]
    assert all("likelier" in words(each.blocked) for each in found.listed)


def test_what_may_lose_or_be_stale_is_tried_only_where_that_is_allowed():
    infos = {"a": info("stale"), "b": info("loss"), "c": info("visible")}
    proposed = [proposal(name) for name in infos]
    found = chosen(proposed, infos)
    assert [each.name for each in found.tried] == ["c"]
    assert [words(each.blocked) for each in found.listed] == [
        "needs `--allow stale`",
        "needs `--allow loss`",
    ]
    assert [each.name for each in chosen(proposed, infos, allowed=["loss"]).tried] == ["b", "c"]


@pytest.mark.parametrize("name", ["htaccess", "front:htaccess"])
def test_files_are_inlined_only_where_somebody_agrees(name):
    inlining, infos = proposal(name), {name: info("visible")}
    assert [words(each.blocked) for each in chosen([inlining], infos).listed] == [
        "needs `--allow inline`"
    ]
    assert chosen([inlining], infos, allowed=["inline"]).tried == (inlining,)


def test_what_findings_propose_comes_first_and_the_worst_before_the_rest():
    proposed = [
        proposal("likely", prior=0.95),
        structs.replace(proposal("hint"), found_by="x", severity="hint"),
        structs.replace(proposal("lossy"), found_by="x", severity="bad"),
        structs.replace(proposal("bad"), found_by="x", severity="bad"),
        structs.replace(proposal("doubtful"), found_by="x", severity="doubtful"),
    ]
    infos = {each.name: info("loss" if each.name == "lossy" else "pure") for each in proposed}
    found = chosen(proposed, infos)
    assert [each.name for each in found.tried] == ["bad", "doubtful", "likely", "hint"]
    assert [words(each.blocked) for each in found.listed] == ["needs `--allow loss`"]


def test_what_a_rule_blocked_stays_so():
    found = chosen([proposal("a", blocked=because("advice.none_compressed"))], {"a": info()})
    assert found.tried == ()
    assert found.listed[0].blocked == because("advice.none_compressed")


def test_what_hardly_helps_is_listed():
    found = chosen([proposal("a", prior=0.1)], {"a": info()})
    assert found.tried == ()
    assert "little is to be expected" in words(found.listed[0].blocked)

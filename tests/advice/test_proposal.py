from msgspec import structs

from httpdyno.advice.proposal import MOST_TRIED, KnobProposal, chosen
from httpdyno.model import KnobInfo


def info(effect="pure"):
    return KnobInfo(name="any", summary="any", kind="integer", effect=effect)


def proposal(name, prior=0.5, blocked=""):
    return KnobProposal(name=name, start=1, levels=(2,), why="", prior=prior, blocked=blocked)


def test_the_likeliest_come_first_and_no_more_than_a_ladder_can_decide():
    names = [f"front:k{number}" for number in range(MOST_TRIED + 2)]
    proposed = [proposal(name, prior=0.5 + number / 100) for number, name in enumerate(names)]
    found = chosen(proposed, dict.fromkeys(names, info()))
    assert [each.name for each in found.tried] == names[::-1][:MOST_TRIED]
    assert [each.name for each in found.listed] == names[1::-1]
    assert all("likelier" in each.blocked for each in found.listed)


def test_what_may_lose_or_be_stale_is_tried_only_where_that_is_allowed():
    infos = {"a": info("stale"), "b": info("loss"), "c": info("visible")}
    proposed = [proposal(name) for name in infos]
    found = chosen(proposed, infos)
    assert [each.name for each in found.tried] == ["c"]
    assert [each.blocked for each in found.listed] == [
        "needs `--allow stale`",
        "needs `--allow loss`",
    ]
    assert [each.name for each in chosen(proposed, infos, allowed=["loss"]).tried] == ["b", "c"]


def test_what_a_rule_wants_to_be_allowed_is_tried_only_then():
    inlining = structs.replace(proposal("a"), needs="inline")
    infos = {"a": info("visible")}
    assert [each.blocked for each in chosen([inlining], infos).listed] == ["needs `--allow inline`"]
    assert chosen([inlining], infos, allowed=["inline"]).tried == (inlining,)


def test_what_a_rule_blocked_stays_so():
    found = chosen([proposal("a", blocked="its module is not there")], {"a": info()})
    assert found.tried == ()
    assert found.listed[0].blocked == "its module is not there"


def test_what_hardly_helps_is_listed():
    found = chosen([proposal("a", prior=0.1)], {"a": info()})
    assert found.tried == ()
    assert "little is to be expected" in found.listed[0].blocked

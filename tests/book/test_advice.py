"""The advice as declared: all bundled studies are of a table, of an advice, or say why of none."""

from collections import Counter

from msgspec import structs

from httpdyno.book.advice import all_advice, change_of
from httpdyno.book.experiment import experiments
from httpdyno.catalog import bundled_studies, open_study

OTHERS = {
    "bookmarks",  # no document has it: the site of `httpdyno demo`, which needs no server
    "cache-phases",  # the memo measured its cache warm; cold and expired nobody asked
    "fastcgi-pool",  # the tutorial names FastCGI; what it asks of a pool it asks of mod_perl's
    "mpm",  # Apache 1.3 had processes only
    "page-cache",  # the memo's table of a computed page, which `php-cache` asks, of one by mod_perl
    "page-cache-mix",  # the memo asks its cache for what it has, or has not: never for both
    "request-path-factorial",  # the table that `request-path` asks, in all combinations
    "slow-database",  # the table `mysql-bound-load`, which `slow-backend` asks, of a real database
}
"""Bundled studies that ask neither a table nor an advice of the documents, and why they exist."""


def test_every_bundled_study_is_of_a_table_or_of_an_advice_or_says_why_of_neither():
    of_tables = {getattr(each.way, "study", "") for each in experiments()} - {""}
    advised = [each.study for each in all_advice()]
    named = Counter([*of_tables, *advised, *OTHERS])
    assert sorted(named) == sorted(bundled_studies())
    assert [name for name, n in named.items() if n > 1] == []


def test_no_advice_goes_by_the_name_of_an_experiment():
    assert not {each.name for each in all_advice()} & {each.name for each in experiments()}


def test_each_says_something_of_a_document_and_is_of_a_change_that_its_study_has(subtests):
    for each in all_advice():
        with subtests.test(each.name):
            works = {one.chapter.partition(",")[0] for one in experiments()}
            assert all(part.strip().partition(",")[0] in works for part in each.chapter.split(";"))
            assert each.says
            assert each.says[-1] not in ".;"
            change = change_of(each, open_study(each.study))
            assert each.claim in {"", change.label}
            first = change_of(structs.replace(each, claim=""), open_study(each.study))
            assert not each.claim or first.label != change.label, "what is first needs not be named"

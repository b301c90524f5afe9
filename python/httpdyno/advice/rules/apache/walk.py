"""A place that no file stands for, and Apache looks for one all the same."""

from collections.abc import Iterator

from httpdyno.advice.rules.declaration import BOOK, HTTPD, Rule, Seen
from httpdyno.advice.rules.facts import Facts


def _walked(facts: Facts) -> Iterator[Seen]:
    calls = facts.calls
    if calls is None or not calls.missing_file or not calls.stats + calls.lstats:
        return
    counts = {"`stat`": calls.stats, "`lstat`": calls.lstats}
    yield Seen(
        what=f"{calls.missing_file} is looked for in each request, and is not there",
        evidence=(calls.seen(counts),),
    )


RULES = (
    Rule(
        name="walked-path",
        kinds=("apache",),
        severity="hint",
        checks="A place of a handler for which Apache looks for a file first",
        matters="A URL is made into a path, and each folder of the path is asked for, before the "
        "handler that answers has its turn; it is the longer the deeper the document root lies.",
        needs="A census (`--census URL`) in which a file of the URL's name was looked for and not "
        "found.",
        do="let a handler of the translation phase answer for the place: mod_perl's "
        "`PerlTransHandler` or `PerlMapToStorageHandler` with a sub that returns OK; short of "
        "that, an `Alias` of the place to a folder near `/`, with `AllowOverride None`",
        risks="what `<Directory>` and `<Files>` sections say of the place, or forbid, counts no "
        "more: say it in a `<Location>`; an `Alias` publishes what lies in its folder",
        wrong="requests take milliseconds: what the walk takes cannot be seen beside that",
        source=f"{BOOK}; {HTTPD}mod/mod_alias.html#alias",
        look=_walked,
    ),
)

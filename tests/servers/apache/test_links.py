"""`Options` by which links are looked for on the way to a document root, and the same without."""

from tests.rows import each_row
from tests.servers.apache.sample import EVENT, difference, files, surveyed
from tests.words import words

from httpdyno.advice.proposal import KnobProposal, chosen
from httpdyno.servers.apache import Apache
from httpdyno.servers.apache.reading import checking, followed, is_checking

ROOT = f"{EVENT}DocumentRoot /srv/shop\n"


def folder(path, options):
    return f'<Directory "{path}">\n    Options {options}\n</Directory>\n'


@each_row(
    ("text", "without"),
    [
        ("None", "FollowSymLinks"),
        ("Indexes", "Indexes FollowSymLinks"),
        ("Indexes SymLinksIfOwnerMatch", "Indexes FollowSymLinks"),
        ("All SymLinksIfOwnerMatch", "All FollowSymLinks"),
        ("+SymLinksIfOwnerMatch", "+FollowSymLinks -SymLinksIfOwnerMatch"),
        ("-Indexes -FollowSymLinks", "-Indexes +FollowSymLinks -SymLinksIfOwnerMatch"),
    ],
)
def test_options_that_look_for_links_follow_them_and_say_nothing_else(text, without):
    assert is_checking(text)
    assert followed(text) == without
    assert not is_checking(without)


@each_row("text", ["All", "Indexes FollowSymLinks", "-Indexes +MultiViews"])
def test_options_that_follow_links_or_leave_that_to_others_are_well(text):
    assert not is_checking(text)


def test_what_counts_on_the_way_is_changed_and_no_folder_that_others_may_write_in():
    main = (
        folder("/", "None")
        + folder("/srv", "+SymLinksIfOwnerMatch")
        + folder("/srv/shop/uploads", "SymLinksIfOwnerMatch")
        + folder("/home", "None")
        + "<Location /files>\nOptions None\n</Location>\n"
    )
    assert difference(files(ROOT + main), {"link_checks": "followed"}) == [
        "-    Options None",
        "+    Options FollowSymLinks",
        "-    Options +SymLinksIfOwnerMatch",
        "+    Options +FollowSymLinks -SymLinksIfOwnerMatch",
    ]


@each_row(
    "text",
    [
        folder("/", "FollowSymLinks"),
        folder("/home", "None"),
        # Which of two counts for what is not told apart.
        folder("/srv", "None") + folder("/srv", "+Indexes"),
    ],
)
def test_where_nothing_has_to_change_or_it_is_not_clear_there_is_no_knob(text):
    survey = surveyed(files(ROOT + text))
    assert checking(survey) == ()
    assert "link_checks" not in Apache().knobs(survey)


def test_it_is_tried_only_where_somebody_agrees():
    knobs = Apache().knobs(surveyed(files(ROOT + folder("/srv", "None"))))
    each = KnobProposal(name="link_checks", start="found", levels=("followed",))
    assert [words(p.blocked) for p in chosen([each], knobs).listed] == ["needs `--allow links`"]
    assert chosen([each], knobs, allowed=["links"]).tried == (each,)

"""What is said of Perl inside Apache: SizeLimit's count, state in files, switches, links."""

import pytest
from tests.advice.rules.told import apache, evidence, named, said
from tests.rows import each_row

from httpdyno.advice.rules.apache_perl import linked_folders
from httpdyno.advice.rules.facts import PerlFacts, PoolFacts, WorkerSize
from httpdyno.advice.rules.programs import folders_of

MIB = 1 << 20
LIMITED = "PerlModule Apache2::SizeLimit\nPerlCleanupHandler Apache2::SizeLimit\n"
SECTION = "<Perl>\nuse Apache2::SizeLimit;\nApache2::SizeLimit->set_max_unshared_size({});\n</Perl>"
RULE = "size-limit-by-statm"
ABSENT = PerlFacts(has_smaps=False)


def limited(text, *, perl=ABSENT, pool=None):
    return apache(text, "perl", perl=perl, pool=pool)


def sized(*pairs, names=("apache2",)):
    sizes = tuple(
        WorkerSize(pid=100 + nth, own_bytes=own * MIB, statm_bytes=counted * MIB)
        for nth, (own, counted) in enumerate(pairs)
    )
    return PoolFacts(n_workers=len(pairs), names=names, sizes=sizes)


def test_a_count_that_takes_preloading_for_unshared_is_told_with_both_figures():
    facts = limited(LIMITED, pool=sized((1, 31), (2, 30)))
    assert said(facts)[0] == (
        RULE,
        "doubtful",
        "`Apache2::SizeLimit` counts 30.0 MiB of process 101 as unshared, and 2.00 MiB are its own",
    )
    assert evidence(facts, RULE) == (
        "PerlModule Apache2::SizeLimit, /etc/apache2/apache2.conf:1; "
        "PerlCleanupHandler Apache2::SizeLimit, /etc/apache2/apache2.conf:2; "
        "/proc/101/statm and smaps_rollup, the largest of 2"
    )


@pytest.mark.parametrize(
    ("kb", "pairs", "end"),
    [
        ("20_000", [(1, 29), (2, 30)], "; 2 of 2 are over its limit of 19.5 MiB by that count, "),
        ("29_900", [(1, 29), (2, 30)], "; 1 of 2 are over its limit of 29.2 MiB by that count, "),
    ],
)
def test_a_limit_that_ends_healthy_processes_is_bad(kb, pairs, end):
    facts = limited(SECTION.format(kb), pool=sized(*pairs))
    [(_, severity, what)] = [each for each in said(facts) if each[0] == RULE]
    assert severity == "bad"
    assert end in what


@each_row("kb", ["40_000", "1_000", "$limit"])
def test_a_limit_that_neither_count_or_both_are_over_is_not(kb):
    facts = limited(SECTION.format(kb), pool=sized((1, 29), (2, 30)))
    assert [each[1] for each in said(facts) if each[0] == RULE] == ["doubtful"]


@each_row(
    "text",
    [
        "PerlModule Apache2::SizeLimit",
        "<Location /perl>\nPerlCleanupHandler Apache2::SizeLimit\n</Location>",
        "<Perl>\nuse Apache2::SizeLimit;\n</Perl>",
        "<Perl>\nrequire Apache2::SizeLimit;\n</Perl>",
    ],
)
def test_it_is_found_wherever_it_is_loaded(text):
    assert named(limited(text), RULE) == [
        "`Apache2::SizeLimit` counts what the parent has loaded as each process's own"
    ]


def test_what_is_run_at_the_start_is_read_without_comments_and_documentation():
    text = "PerlRequire /srv/startup.pl"
    code = "use strict;\n  Apache2::SizeLimit->set_max_process_size(9);\n"
    facts = limited(text, perl=PerlFacts(has_smaps=False, startup={"/srv/startup.pl": code}))
    assert evidence(facts, RULE).endswith("(9);, /srv/startup.pl:2")
    for hidden in (f"# {code}".replace("\n  ", " "), f"=pod\n\n{code}", f"1;\n__END__\n{code}"):
        hidden_facts = PerlFacts(has_smaps=False, startup={"/srv/startup.pl": hidden})
        assert named(limited(text, perl=hidden_facts), RULE) == []


def test_whether_the_module_is_there_may_be_unknown():
    unknown = ", unless Linux::Smaps is there, which is not known"
    for perl in (None, PerlFacts()):
        for pool, severity in ((None, "doubtful"), (sized((1, 29)), "doubtful")):
            facts = limited(SECTION.format("20_000"), perl=perl, pool=pool)
            [found] = [each for each in said(facts) if each[0] == RULE]
            assert unknown in found[2]
            assert found[1] == severity


@each_row(
    "facts",
    [
        limited(LIMITED, perl=PerlFacts(has_smaps=True)),
        apache(LIMITED, perl=ABSENT),
        limited("PerlModule Shop::SizeLimit"),
        limited("<Location /x>\nRequire all granted\n</Location>\n# PerlModule Apache2::SizeLimit"),
        # Nothing is preloaded: both counts agree.
        limited(LIMITED, pool=sized((28, 30))),
    ],
)
def test_where_it_counts_right_or_is_not_used_nothing_is_said(facts):
    assert named(facts, RULE) == []


def test_the_module_may_be_there_and_turned_off():
    text = "<Perl>\nuse Apache2::SizeLimit;\n$Apache2::SizeLimit::USE_SMAPS = 0;\n</Perl>"
    assert len(named(limited(text, perl=PerlFacts(has_smaps=True)), RULE)) == 1


ASP = "<Location /shop>\nSetHandler perl-script\nPerlResponseHandler Apache::ASP\n{}\n</Location>"
STATE = "perl-state-on-disk"
STATES = [
    (ASP.format("PerlSetVar StateDir /srv/state/"), "/srv/state", "Apache::ASP"),
    (ASP.format("PerlSetVar Global /srv/asp"), "/srv/asp/.state", "Apache::ASP"),
    (
        "PerlSetVar MasonSessionClass Apache::Session::File\n"
        "PerlSetVar MasonSessionDirectory /srv/s",
        "/srv/s",
        "Apache::Session",
    ),
    (
        'PerlSetVar SessionStoreArgs "Directory => /srv/s, Other => 1"',
        "/srv/s",
        "Apache::Session",
    ),
    (
        "<Perl>\nuse Apache::Session::File;\nour %o = (Directory => '/srv/s');\n</Perl>",
        "/srv/s",
        "Apache::Session",
    ),
]


@pytest.mark.parametrize(("text", "folder", "whose"), STATES)
@pytest.mark.parametrize(("kind", "severity"), [("nfs4", "doubtful"), ("ext4", "hint")])
def test_state_in_files_is_told_by_where_it_lies(text, folder, whose, kind, severity):
    facts = apache(text, "perl", filesystems={folder: kind})
    assert folders_of(facts) == (folder,)
    what = f"each request with a session of {whose} locks, reads and writes files of {kind}"
    assert [each for each in said(facts) if each[0] == STATE] == [(STATE, severity, what)]
    assert evidence(facts, STATE).startswith(f"{folder} is {kind}; ")


@pytest.mark.parametrize("kind", ["tmpfs", ""])
def test_state_in_memory_and_where_it_is_not_known_is_not_told(kind):
    for text, folder, _ in STATES:
        known = {folder: kind} if kind else {}
        assert named(apache(text, "perl", filesystems=known), STATE) == []


@each_row(
    ("text", "modules"),
    [
        (ASP.format("PerlSetVar StateDir /srv/state"), ()),
        (ASP.format("PerlSetVar StateDir state"), ("perl",)),
        (ASP.format("PerlSetVar Global ."), ("perl",)),
        (ASP.format("PerlSetVar NoState 1\nPerlSetVar StateDir /srv/state"), ("perl",)),
        # Not of Apache::ASP.
        ("PerlSetVar Global /srv/asp", ("perl",)),
        ("PerlSetVar TemplateDirectory /srv/t", ("perl",)),
        ("<Perl>\nour %o = (Directory => '/srv/s');\n</Perl>", ("perl",)),
    ],
)
def test_folders_that_the_configuration_does_not_tell_are_not_asked_for(text, modules):
    assert folders_of(apache(text, *modules)) == ()


def test_a_folder_of_several_places_is_one_finding():
    text = STATES[0][0] + "\n" + STATES[0][0].replace("/shop>", "/news>")
    facts = apache(text, "perl", filesystems={"/srv/state": "xfs"})
    assert len(named(facts, STATE)) == 1
    assert evidence(facts, STATE).count("PerlSetVar StateDir") == 2


def test_a_state_folder_counts_before_that_of_the_application():
    text = ASP.format("PerlSetVar Global /srv/asp\nPerlSetVar StateDir /dev/shm/asp")
    assert folders_of(apache(text, "perl")) == ("/dev/shm/asp",)


@each_row(
    ("line", "severity", "words"),
    [
        ("Debug -1", "doubtful", "writes all that it does into the error log"),
        ("Debug 2", "bad", "shows visitors what was found wrong, with the script"),
        ("Debug -2", "bad", "into the error log and shows visitors"),
        ("StatINC 1", "doubtful", "asks for the time of change of each loaded module"),
    ],
)
def test_switches_for_development_of_asp_are_told(line, severity, words):
    facts = apache(ASP.format(f"PerlSetVar {line}"), "perl")
    [(_, found, what)] = [each for each in said(facts) if each[0] == "asp-debugging"]
    assert found == severity
    assert words in what


@each_row("line", ["Debug 0", "Debug 1", "StatINC 0", "StatScripts 1"])
def test_those_that_are_off_and_of_others_are_not(line):
    assert named(apache(ASP.format(f"PerlSetVar {line}"), "perl"), "asp-debugging") == []
    assert named(apache("PerlSetVar Debug 2", "perl"), "asp-debugging") == []


ALIASES = "Alias /perl/ /srv/perl/\nAlias /old/ /srv/link/\n"
PLACE = "<Location {}>\nSetHandler perl-script\nPerlResponseHandler ModPerl::{}\n</Location>\n"
KEPT = ALIASES + PLACE.format("/perl", "Registry") + PLACE.format("/old/", "Registry")
SAME = {"/srv/perl": "/srv/perl", "/srv/link": "/srv/perl"}


def test_one_folder_that_a_link_gives_two_names_is_told():
    facts = apache(KEPT, "perl", real_paths=SAME)
    assert linked_folders(facts) == ("/srv/perl", "/srv/link")
    assert named(facts, "scripts-kept-twice") == [
        "/perl/ and /old/ are one folder, /srv/perl: each process compiles and keeps a script once "
        "for each of the two that it was asked for at"
    ]


@each_row(
    ("text", "known"),
    [
        (KEPT, {}),
        (KEPT, {"/srv/perl": "/srv/perl", "/srv/link": "/srv/link"}),
        # Kept by the name of the file, which is the same.
        (KEPT.replace("/srv/link/", "/srv/perl/"), SAME),
        (ALIASES + PLACE.format("/perl", "PerlRun") + PLACE.format("/old", "PerlRun"), SAME),
        (ALIASES + PLACE.format("/perl", "Registry"), SAME),
    ],
)
def test_folders_apart_and_scripts_that_are_not_kept_are_not(text, known):
    assert named(apache(text, "perl", real_paths=known), "scripts-kept-twice") == []

"""What rules say of an Apache whose requests were seen in a census."""

from tests.advice.rules.told import apache, evidence, named
from tests.rows import each_row

from httpdyno.advice.rules.facts import CallFacts

URL = "http://127.0.0.1/news"
HOST = "<VirtualHost *:80>\nDocumentRoot /srv/shop\n</VirtualHost>\n"
WALK = CallFacts(url=URL, stats=1, lstats=7, htaccess_opens=4.5, missing_file="/srv/shop/news")


def folder(line):
    return f"<Directory />\n{line}\n</Directory>\n"


@each_row(
    ("rule", "text", "calls", "words"),
    [
        (
            "overrides",
            folder("AllowOverride All") + HOST,
            WALK,
            f"4.5 opens of a `.htaccess` in each request of {URL}; AllowOverride All",
        ),
        (
            "overrides",
            folder("AllowOverride All") + HOST,
            CallFacts(url=URL),
            f"0 opens of a `.htaccess` in each request of {URL}; AllowOverride All",
        ),
        (
            "link-checks",
            folder("Options Indexes") + HOST,
            WALK,
            f"7 `lstat` in each request of {URL}; Options Indexes",
        ),
        (
            "name-lookups",
            "HostnameLookups On",
            CallFacts(url=URL, name_servers=2.7, hosts_opens=1),
            "1 opens of /etc/hosts and 2.7 connections to name servers in each request of "
            f"{URL}; HostnameLookups On",
        ),
        (
            "walked-path",
            "Listen 80",
            WALK,
            f"1 `stat` and 7 `lstat` in each request of {URL}",
        ),
    ],
)
def test_what_was_seen_is_evidence(rule, text, calls, words):
    assert evidence(apache(text, calls=calls), rule).startswith(words)


def test_what_was_seen_needs_no_reading_of_the_configuration():
    assert named(apache("Listen 80", calls=WALK), "overrides") == [
        "each request looks for `.htaccess`"
    ]
    assert named(apache("Listen 80", calls=CallFacts(url=URL)), "overrides") == []


@each_row(
    "calls",
    [
        None,
        CallFacts(url=URL, stats=1, lstats=7),
        # A handler looks for a file of its own, and Apache does not walk.
        CallFacts(url=URL, missing_file="/srv/shop/news"),
    ],
)
def test_a_path_is_walked_only_where_it_was_seen(calls):
    assert named(apache("Listen 80", calls=calls), "walked-path") == []

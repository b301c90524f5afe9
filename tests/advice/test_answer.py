"""Answers from files are told from those of applications by their ETag."""

from tests.rows import each_row

from httpdyno.advice.proposal import is_from_file

MODIFIED = "Tue, 24 Nov 2026 10:00:00 GMT"
AT_S = 1_795_514_400


@each_row(
    ("etag", "modified", "is_file"),
    [
        (f'"{AT_S:x}-{1200:x}"', MODIFIED, True),  # nginx
        (f'"{1200:x}-{AT_S * 1_000_000 + 77:x}"', MODIFIED, True),  # Apache
        (f'W/"{AT_S:x}-{1200:x}"', MODIFIED, True),  # nginx, compressed
        (f'"{1200:x}-{AT_S * 1_000_000 + 77:x}-gzip"', MODIFIED, True),  # Apache, likewise
        (f'"{AT_S:x}-{1201:x}"', MODIFIED, False),
        (f'"{AT_S + 1:x}-{1200:x}"', MODIFIED, False),
        (f'W/"{1200:x}-{AT_S * 1000:x}"', MODIFIED, False),  # what `send` of node makes
        ('"d41d8cd98f00b204e9800998ecf8427e"', MODIFIED, False),
        (f'"{AT_S:x}-{1200:x}"', "", False),
        (f'"{AT_S:x}-{1200:x}"', "yesterday", False),
        ("", "", False),
        ("", MODIFIED, None),  # `etag off`
    ],
)
def test_a_file_is_told_by_what_its_etag_is_made_of(etag, modified, is_file):
    assert is_from_file(etag, modified, 1200) is is_file

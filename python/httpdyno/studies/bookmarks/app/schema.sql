CREATE TABLE bookmarks (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    tag TEXT NOT NULL,
    added_at REAL NOT NULL,
    UNIQUE (owner, url)
);

CREATE INDEX bookmarks_by_owner ON bookmarks (owner, added_at DESC);

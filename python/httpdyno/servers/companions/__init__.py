"""Several servers as one: the one that a study is about, and those before it and behind it."""

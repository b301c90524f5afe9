"""Numbered changes of the schema, run by `httpdyno.store.database`; never edited once released."""

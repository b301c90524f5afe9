"""The study database: every window is kept as it ends, so that nothing measured is lost.

Importing this package imports SQLAlchemy; commands that may not need it import it when they do.
"""

from httpdyno.store.run_store import Store

__all__ = ["Store"]

"""What is said where no limit can be named: that it cannot be told, why, and what was seen."""

from httpdyno.advice.bottleneck.facts import Facts, of
from httpdyno.model import Bottleneck, Look

LEAST_TOLD = 0.05
"""Workers at something, on average: of fewer nothing is said."""


def unknown(why: str, evidence: dict[str, float] | None = None) -> Bottleneck:
    """Return the verdict that names no limit, with the reason, and what it would be named by."""
    return Bottleneck(limit="unknown", reason=f"it cannot be told: {why}", evidence=evidence or {})


def seen_text(facts: Facts) -> str:
    """Say what was seen of workers, requests and cores, and what was not."""
    doing = sorted(facts.look.doing.items(), key=lambda item: -item[1])
    seen = ", ".join(f"{of(n)} {name.replace('_', ' ')}" for name, n in doing if n >= LEAST_TOLD)
    workers = f"{facts.workers_text} ({seen})" if seen else facts.workers_text
    under_way = f"{of(facts.look.clients)} requests under way"
    return f"{workers}, {under_way}, {facts.cores_text}{hidden_text(facts.look)}"


def hidden_text(look: Look) -> str:
    """Say in brackets what could not be looked at; nothing where all could."""
    return f" ({'; '.join(look.hidden)})" if look.hidden else ""

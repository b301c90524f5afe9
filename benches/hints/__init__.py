"""Whether the budget that a refusal tells works when it is given."""

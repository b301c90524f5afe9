"""From what people say of a load to measurements; the only caller of the compiled engine."""

"""From a workload to a measurement; the only caller of the compiled engine."""

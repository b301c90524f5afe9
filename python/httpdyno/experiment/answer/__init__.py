"""What servers answer to the requests of a workload, and whether it is the same."""

"""Whether the number of workers that memory has room for is right, and leaks are found."""

"""What a httpdyno process has on the machine: its folders, its record, its processes."""

"""What reports of studies and of load tests share: drawings, templates, prose, phrases."""

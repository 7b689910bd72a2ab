"""What several tests use: probes, made-up runs, a browser."""

"""Where things lie on this machine's disk. Paths alone, no data."""

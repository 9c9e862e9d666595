"""The report: one self-contained page about a release, for privacy officers and analysts."""

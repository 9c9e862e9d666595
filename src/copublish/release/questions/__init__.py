"""Numbers read from a release, with the error that noise leaves in them. Released values only."""

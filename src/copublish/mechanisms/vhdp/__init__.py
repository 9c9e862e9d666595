"""Every record, each value with noise of its owner's."""

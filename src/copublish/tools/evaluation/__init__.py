"""How good a release is: metrics over released values and data that the user brings, and the report."""

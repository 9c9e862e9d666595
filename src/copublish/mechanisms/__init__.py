"""One folder for each mechanism: its settings, plan, run, result and report.

May hold: in files named `run`, rows and secrets, but no way to open them except the gate; elsewhere released values.
"""

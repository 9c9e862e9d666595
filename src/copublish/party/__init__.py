"""One organization's process: its keys and approvals, its network, a run and its status, all parties on one machine.

May hold: this party's keys, connections and rows on their way into a run.
"""

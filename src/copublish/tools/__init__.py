"""Tools around a release: drafting agreements, planning, evaluating and auditing.

May hold: released values, made-up or public data, and what an owner confirmed. Nothing on the publish path imports it.
"""

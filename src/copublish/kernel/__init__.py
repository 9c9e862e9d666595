"""What protects people: noise, accounting, ledger, certificate, secrets and their gate, and the main path.

May hold: secret values, which come out through the gate, and one party's encoded rows. It opens no socket and reads no
data file; `docs/kernel.md` says in which order to review it.
"""

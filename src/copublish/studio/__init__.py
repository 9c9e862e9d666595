"""A page on this machine to draft, plan, approve, run and read: `copublish studio`.

The page shows what files say and does what the public names of `copublish` do; nothing exists twice. This package
imports those names and its own modules alone. It serves one person on one machine: loopback, a one-time address, no
account. `guard.py` has what is refused before any page is made, `places/` one module for each place.
"""

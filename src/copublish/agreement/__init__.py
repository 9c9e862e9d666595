"""The part that all parties sign: schema, domains, budget, parties, and the table of messages between them.

May hold: public configuration. It knows no mechanism by name, no row and no secret.
"""

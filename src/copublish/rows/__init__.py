"""One party's own data: files, data frames and databases, read, checked, encoded and counted.

May hold: private rows of this party. Nothing here leaves the party.
"""

"""One party's part of the joined table: cells, people, order."""

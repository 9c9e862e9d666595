"""One party's own rows: reading, checking, encoding and counting them. Nothing here leaves the party."""

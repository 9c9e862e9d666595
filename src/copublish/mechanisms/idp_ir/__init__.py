"""iDP-IR as published: microaggregated records. Not differential privacy."""

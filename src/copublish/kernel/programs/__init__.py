"""Programs on secrets. They know numbers alone: no engine, no agreement, no row."""

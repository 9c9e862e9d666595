"""All that protects people, short of engines, mechanisms and the reading of rows."""

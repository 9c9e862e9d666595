"""One release: preflight, alignment, the main path, and the folder that it ends in."""

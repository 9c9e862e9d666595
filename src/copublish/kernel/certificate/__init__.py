"""What a release guarantees, to whom, under which assumptions."""

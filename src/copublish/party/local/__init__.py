"""All parties on one machine: simulation, one process for each party, the demo."""

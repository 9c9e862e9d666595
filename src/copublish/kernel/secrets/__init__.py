"""Secret values, what an engine offers, and the gate that opens."""

"""Laws of noise, and how they are sampled from fair coins."""

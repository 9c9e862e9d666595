"""Parts that several mechanisms are made of."""

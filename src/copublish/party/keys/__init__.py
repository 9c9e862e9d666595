"""Who a party is, and what signs for it."""

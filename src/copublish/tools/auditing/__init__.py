"""How much of the stated epsilon can be found in what a mechanism opens: played on made-up tables, for free."""

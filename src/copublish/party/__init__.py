"""A party on the network: its identity, the one port it opens, meeting the others, messages, and a whole run."""

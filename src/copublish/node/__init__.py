"""A party's place on the network: its identity, the one port it opens, meeting the other party, and a whole run."""

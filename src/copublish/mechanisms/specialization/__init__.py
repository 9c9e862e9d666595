"""DistDiffGen and ArbDistDP made sound: values split top-down, leaf counts with noise."""

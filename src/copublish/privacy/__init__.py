"""Parameters of privacy: noise, disclosures, accounting, the ledger, the certificate. Never data."""

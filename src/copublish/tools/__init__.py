"""What people use before and after a release: drafts, plans, scores, audits."""

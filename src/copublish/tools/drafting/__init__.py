"""Agreements before they are agreed: an example, drafts from columns and data dictionaries, drafts that are merged.

It sees names and types of columns, what a public dictionary says, and what an owner has confirmed; no rows.
"""

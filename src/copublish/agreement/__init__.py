"""The agreement: public configuration that all parties fix before any data is touched."""

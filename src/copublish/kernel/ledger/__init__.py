"""A party's durable record of the privacy budget spent on its data."""

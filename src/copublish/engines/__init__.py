"""Secret values and the engines that compute on them. Values come out through `reveal.py` alone."""

"""The documentation site: pages of docs/, references made from the code, notebooks with their results, pictures.

`make docs` stages them in one folder, has Zensical build them, and checks every link of what came out.
"""

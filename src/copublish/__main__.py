"""`python -m copublish` is the command `copublish`."""

from copublish.cli import main

main()

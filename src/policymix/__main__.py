"""`python -m policymix` is `policymix`."""

from policymix.cli import main

main()

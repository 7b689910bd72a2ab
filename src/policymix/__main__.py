"""`python -m policymix` is `policymix`."""

from policymix.cli.main import main

main()

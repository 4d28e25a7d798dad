"""``python -m cuvein``: the command line."""

from cuvein.cli import main

if __name__ == "__main__":
    main()

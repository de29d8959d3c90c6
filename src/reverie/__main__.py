"""`python -m reverie` is `reverie`."""

from reverie.cli import main

if __name__ == "__main__":
    main()

"""`python -m reverie` is `reverie`."""

from reverie.surfaces.cli import main

if __name__ == "__main__":
    main()

"""``python -m cudacompat``."""

from cudacompat.cli import main

if __name__ == "__main__":
    main()

"""``python -m sarag_rdf`` is ``sarag``."""

from sarag_rdf.cli.main import main

if __name__ == "__main__":
    main()

"""Text2KGBench (ISWC 2023): its files, its measures, and the command that runs it."""

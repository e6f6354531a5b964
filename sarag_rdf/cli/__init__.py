"""The command line: one command per file, `options` and `output` shared."""

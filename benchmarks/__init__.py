"""What the library does, measured: each module prints what it measured, with its setting."""

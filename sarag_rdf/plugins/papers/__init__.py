"""Published systems, kept for comparison: one method a file."""

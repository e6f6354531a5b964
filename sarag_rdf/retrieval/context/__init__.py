"""From what was retrieved to what a language model reads: one context builder per file."""

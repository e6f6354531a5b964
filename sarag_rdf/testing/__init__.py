"""Stand-ins for models, and tests that a plug-in's author can run."""

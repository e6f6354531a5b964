"""Values that flow, limits, and what is needed from outside: what every other folder may use."""

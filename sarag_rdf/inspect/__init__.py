"""What a graph holds, and whether it holds up: counts and SHACL validation."""

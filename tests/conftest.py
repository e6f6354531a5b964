"""What all tests share; none of them waits for a hub of models."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported

pytest_plugins = ["tests.ci_skips", "tests.command", "tests.llm_server", "tests.servers"]

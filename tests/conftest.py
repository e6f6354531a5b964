pytest_plugins = ["tests.ci_skips", "tests.command", "tests.llm_server", "tests.servers"]

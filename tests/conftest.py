pytest_plugins = ["tests.llm_server"]

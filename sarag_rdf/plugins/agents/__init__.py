"""The graph for programs by others: MCP clients, LangChain, LlamaIndex, rdflib; each an extra."""

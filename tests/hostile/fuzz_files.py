"""Mutated files of all six readers, to a running server: it lives and stays small, and an innocent client is answered.

    python -m tests.hostile.fuzz_files --inputs 20000 [--seed 1]    prints what was found; exit status 1 on a finding
    python -m tests.hostile.fuzz_files --seed 1 --at 4711 FILE      writes one input again

Each input is a mutation of a small good file, made from (seed, number) alone. Half of those that can be uploaded are;
the others are put into the watched folder, some at a time, beside a page that tells when they have been read. What
nothing of may happen: the server ends, it or its reader holds more than it may, an answer takes longer than its time, a
status that is none of an upload's, or an innocent's answer that is wrong or late.
"""

import argparse
import io
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from agent.sandboxed import SANDBOX_MEMORY
from agent.server.api.upload_reader import READING_TIMEOUT

from ..documents.office import a_docx, a_pdf
from .attacked import Innocent, attacked, readers, resident, servers, upload, wait_held
from .files import a_form_that_draws_itself, a_page, a_stream

MORE = 256 * 1024 * 1024  # bytes that the server may grow by
P99 = 0.4  # seconds in which 99 of 100 of an innocent's answers come
STATUSES = (200, 201, 400, 413, 415, 422)
BATCH = 20  # files of the folder that change at once

_MARKDOWN = """# Plans

| Plan | Price | Space |
|------|-------|-------|
| Basic | 99 kr | 5 GB |
| Pro | **199 kr** | 50 GB |

1. A list with `code`, [a link](http://a.b/c) and *marks*:
   - inner

> A quote of <b class="x">text</b>.

```python
x = 1
```

<details><summary>More</summary>It costs 12 kr.</details>

[^1]: A note. {#id} {{ value }} :::note
"""
_HTML = """<!doctype html><html lang="en"><head><title>Plans</title></head><body><h1>Plans</h1>
<p class="a b">The <b>price</b> is 299&nbsp;kr &amp; more.</p><ul><li>One<ul><li>Two</ul></ul>
<table><tr><th colspan=2>Plan</th></tr><tr><td rowspan="2">Basic</td><td>99 kr</td></tr><tr><td>1</td></tr></table>
<pre>x = 1</pre><dl><dt>A<dd>B</dl><script>var a = "<p>";</script><!-- c --><details><summary>S</summary>T</details>
"""
_RST = """Plans
=====

+-------+-------+
| Plan  | Price |
+=======+=======+
| Basic | 99 kr |
+-------+-------+

.. note:: A note with *marks*, ``code`` and |sub|.

.. |sub| replace:: text

===== =====
A     B
===== =====
1     2
===== =====

- item
    quoted::

      code

Term
  Meaning [1]_ and `a link <http://a.b>`_.

.. [1] A footnote.
"""
_TEXT = "PLANS\n=====\n\nThe price is 299 kr.\n\n- one\n  - two\n\n1) three\n\nName:  value\nOther: 12\n"
_TOKENS = (
    b"|", b"\n", b"\n\n", b"| a ", b"|-", b"- ", b"> ", b"[", b"](", b"<", b"<p ", b"</", b"<td colspan=9999>", b"&#",
    b"`", b"```\n", b"*", b"_", b"{", b"}", b"+-", b"+-+\n", b"|a", b".. ", b"::", b"\x00", b"\xff", b"\xef\xbb\xbf",
    b"\xff\xfe", b"9" * 40, b" " * 200, b"obj", b"endobj", b"stream", b"/X Do ", b"<<", b">>", b"[0 0 R]", b"5 0 R",
    b"/Kids", b"/Filter [/FlateDecode /FlateDecode]", b"BT /F1 12 Tf (a) Tj ET ", b"q 1e9 0 0 1e9 0 0 cm ",
    b"<w:p>", b"</w:p>", b"<w:p/>", b"<w:tbl>", b"<w:tc>", b'<w:gridSpan w:val="999999999"/>', b"<w:vMerge/>",
    b"<w:t>a</w:t>", b'<!DOCTYPE a [<!ENTITY b "cccc">]>', b"&b;",
)  # fmt: skip
_REPEATS = (2, 10, 300, 20_000)
_LARGEST = 1_500_000  # bytes of one input


@cache
def seeds() -> Mapping[str, bytes]:
    """Return a good small file of each reader, by its suffix; those that hold the time are made once."""
    return {
        ".md": _MARKDOWN.encode(),
        ".html": _HTML.encode(),
        ".txt": _TEXT.encode(),
        ".rst": _RST.encode(),
        ".pdf": a_pdf(),
        ".docx": a_docx(),
    }


class Inputs:
    """Makes inputs by their numbers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._seeds = seeds()
        self._pdfs = (
            self._seeds[".pdf"],
            a_form_that_draws_itself(),
            a_page(a_stream(zlib.compress(b"BT /F1 12 Tf (a 99 kr) Tj ET"), b"/Filter /FlateDecode")),
        )

    def input(self, number: int) -> tuple[str, bytes]:
        """Return the suffix and the bytes of an input."""
        chance = Random(f"{self._seed} {number}")
        suffix = chance.choice(list(self._seeds))
        if suffix == ".docx" and chance.random() < 0.8:
            return suffix, _packed_anew(self._seeds[suffix], chance)
        data = chance.choice(self._pdfs) if suffix == ".pdf" else self._seeds[suffix]
        return suffix, mutated(data, chance)


def mutated(data: bytes, chance: Random) -> bytes:
    """Return bytes with some of them changed, left out, doubled many times, or put in."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(made) + 1)
        end = min(len(made), at + chance.choice((1, 4, 40, 400)))
        match chance.randrange(6):
            case 0 if made:
                made[min(at, len(made) - 1)] = chance.randrange(256)
            case 1:
                del made[at:end]
            case 2:
                made[at:at] = made[at:end] * chance.choice(_REPEATS)
            case 3:
                made[at:at] = chance.choice(_TOKENS) * chance.choice(_REPEATS)
            case 4:
                made[at:at] = chance.choice(_TOKENS)
            case _:
                other = chance.randrange(len(made) + 1)
                made[at:at] = made[other : other + end - at]
        del made[_LARGEST:]
    return bytes(made)


def _packed_anew(data: bytes, chance: Random) -> bytes:
    """Return a DOCX file with its document, or another part of it, mutated."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        names = source.namelist()
        chosen = "word/document.xml" if chance.random() < 0.8 else chance.choice(names)
        for name in names:
            part = source.read(name)
            archive.writestr(name, mutated(part, chance) if name == chosen else part)
    return out.getvalue()


@dataclass
class Report:
    """What came of the inputs. outcomes: how many there were of each; findings: what must not happen."""

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    slowest: float = 0.0
    p99: float = 0.0
    answers: int = 0


def fuzz(inputs: int, seed: int, p99: float = P99) -> Report:
    """Send so many inputs to a server. p99: seconds in which 99 of 100 of an innocent's answers have to come."""
    report, make = Report(), Inputs(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "kb")
        with attacked(folder, "--api-rate", "0") as server, Innocent(server.port).asking() as innocent:
            before = {pid: resident(pid) for pid in servers(server.pid)}
            waiting = 0
            for number in range(inputs):
                suffix, data = make.input(number)
                if (
                    suffix in (".md", ".txt", ".pdf", ".docx")
                    and Random(f"{seed} {number} way").random() < 0.5
                ):
                    _send(server.port, number, f"fuzz{suffix}", data, report)
                else:
                    (folder / f"{number % BATCH}{suffix}").write_bytes(data)
                    report.outcomes[f"folder {suffix}"] += 1
                    waiting += 1
                if waiting >= BATCH or number == inputs - 1:
                    (folder / "here.md").write_text(f"Input {number} is the last one.")
                    wait_held(server.port, "kb/here.md", f"Input {number} is")
                    waiting = 0
                for each in readers(server.pid):
                    if resident(each) > SANDBOX_MEMORY:
                        report.findings.append(f"{number}: the reader holds {resident(each)} bytes")
            report.findings += [
                f"process {pid} grew by {resident(pid) - held} bytes"
                for pid, held in before.items()
                if resident(pid) - held > MORE or not resident(pid)
            ]
    report.answers, report.p99 = len(innocent.took), innocent.percentile(0.99)
    report.findings += [f"an innocent was answered: {each}" for each in innocent.wrong]
    if report.p99 > p99:
        report.findings.append(f"an innocent's answers took {report.p99:.3f} s at the 99th percentile")
    return report


def _send(port: int, number: int, name: str, data: bytes, report: Report) -> None:
    began = time.monotonic()
    status, told = upload(port, name, data)
    took = time.monotonic() - began
    report.slowest = max(report.slowest, took)
    report.outcomes[f"upload {Path(name).suffix}: {status}"] += 1
    if status not in STATUSES:
        report.findings.append(f"{number}: {status} {told[:200]}")
    if took > READING_TIMEOUT + 5:
        report.findings.append(f"{number}: took {took:.1f} s")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", type=int)
    parser.add_argument("file", type=Path, nargs="?")
    given = parser.parse_args()
    if given.at is not None and given.file is not None:
        suffix, data = Inputs(given.seed).input(given.at)
        given.file.with_suffix(suffix).write_bytes(data)
        return 0
    report = fuzz(given.inputs, given.seed)
    for outcome, count in sorted(report.outcomes.items()):
        sys.stdout.write(f"{count:6}  {outcome}\n")
    sys.stdout.write(
        f"slowest upload {report.slowest:.1f} s; {report.answers} innocent answers, p99 {report.p99 * 1000:.0f} ms\n"
    )
    for finding in report.findings:
        sys.stdout.write(f"FOUND {finding}\n")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())

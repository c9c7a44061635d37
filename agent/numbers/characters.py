"""The plain form of single characters: digits and letters of any style in ASCII, dashes as "-", spaces as " "."""

import re
import unicodedata

SEAM = "\ue000"
"""Stands between two digit runs that only markup parts."""

SYMBOLS = (
    "\u2680-\u2685\u2801-\u28ff\U0001f000-\U0001f0ff\U0001f51f\U0001f550-\U0001f567"
    "\U0001f4af\U0001f947-\U0001f949\U0001f51e\U0001f522\u2f00\u2f06\u2f0b\u2f17\u2f33\u2f36\u32c0-\u32cb"
    "\u3358-\u3370\u33e0-\u33fe\U0001f241\U0001f242"
)
"""Regex class of characters that show a number although Unicode gives them no numeric value: dice, braille cells,
dominoes, tiles and cards, clock faces, keycap ten, hundred points, medals, hours and days in one sign.
"""

_LOOKALIKE = dict(
    zip(
        "аеорсухіѕјһԁԛԝАВЕКМНОРСТХІЅЈοΟΑΒΕΗΙΚΜΝΡΤΧΥΖӀӏƖǀ∣ՕօסⲞⲟⵔƒıᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɡɑƻƼƽ",
        "aeopcyxisjhdqwABEKMHOPCTXISJoOABEHIKMNPTXYZIlIllOooOoOfiabcdefghijklmnoprstuvwyzga255",
        strict=True,
    )
)
_DASHES = "\u2212\u02d7\u2796\u2043\u207b\u208b"
_MARKS = {
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00b4": "'", "\u2032": "'", "\u066c": "'", "\u066b": ".",
    "\u066a": "%", "\u2044": "/", "\u2215": "/", "\u2236": ":", "\u00ba": "\u00b0", "\u02da": "\u00b0",
    "\u00d7": "\u00d7", "\u2715": "\u00d7", "\u2a2f": "\u00d7", "\u2800": " ", "\u00a0": " ",
}  # fmt: skip
_FILLERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f]")
FRACTION = "\ue001"
"""Stands before a fraction that is one character, until it is known whether a digit comes before it."""
_SUPER = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]++")
_SUB = re.compile(r"[₀-₉]++")


class _Forms(dict[int, str]):
    """Maps a code point to its plain form, computed at the first look-up."""

    def __missing__(self, code: int) -> str:
        new = self[code] = _one(chr(code))
        return new


TABLE = _Forms()


def plain_run(old: str, before: str) -> str:
    """Return the plain form of the run of characters `old`; `before` is the character before it."""
    if _SUPER.search(old):
        old = _SUPER.sub(_exponent, old)
    if _SUB.search(old):
        old = _SUB.sub(lambda m: _index(m, before), old)
    return old.translate(TABLE)


def _exponent(match: re.Match[str]) -> str:
    digits = "".join(
        "-" if c == "⁻" else "" if c == "⁺" else str(unicodedata.digit(c)) for c in match.group()
    )
    return "^" + digits if any(c.isdigit() for c in digits) else digits


def _index(match: re.Match[str], before: str) -> str:
    """Return the digits of a subscript: part of a name after a letter (CO₂), else parted from its neighbours."""
    digits = "".join(str(unicodedata.digit(c)) for c in match.group())
    left = match.string[match.start() - 1] if match.start() else before
    return digits if left.isalpha() else "_" + digits


def _one(char: str) -> str:
    """Return the plain form of one character that is not ASCII or is a control character."""
    if char in _MARKS:
        return _MARKS[char]
    if char in _LOOKALIKE:
        return _LOOKALIKE[char]
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Pd" or char in _DASHES:
        return "-"
    if char in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        return "\n"
    if category == "Zs" or char in "\t\r":
        return " "
    if category in ("Cf", "Cc") or _FILLERS.match(char):
        return ""
    if "\ue000" <= char <= "\uf8ff":  # private use: must not pass for `SEAM` or `FRACTION`
        return "\ufffd"
    if unicodedata.numeric(char, None) is not None:
        parts = unicodedata.normalize("NFKC", char).split("\u2044")
        if len(parts) == 2 and all(p.isdigit() and p.isascii() for p in parts):
            return FRACTION + "/".join(parts) + SEAM
        return char
    if "\U0001f130" <= char <= "\U0001f1ff":  # letters in squares and rings, and of flags
        letter = ord(char) - 0x1F1E6 if char >= "\U0001f1e6" else (ord(char) - 0x1F130) % 32
        if letter < 26:
            return chr(97 + letter)
    whole = "".join([_LOOKALIKE.get(c, c) for c in unicodedata.normalize("NFKC", char)])
    if whole[0] == " ":  # an accent that stands alone
        return char
    if any(unicodedata.numeric(c, None) is not None for c in whole):
        step = unicodedata.decomposition(char).split()
        piece = "".join(chr(int(code, 16)) for code in step[1:]) if step[:1] == ["<square>"] else char
        return (
            piece.replace("²", "^2").replace("³", "^3") if not any("0" <= c <= "9" for c in piece) else char
        )
    return whole

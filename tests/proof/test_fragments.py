"""Fragments of Python are found in one definition however they are written, and a lost one is told with candidates."""

from pathlib import Path

import pytest

from .anchors import AnchorError, Package

SHOP = '''
LIMITS = {"low": 1, "high": price_of("x", deep=True)}
SQL = """CREATE TABLE a (b TEXT)
    CHECK (b <> '')"""


class Shop:
    size: int = 3

    def sell(self, thing, count=1):
        """Sell."""
        if count > self.size and thing.known:  # never more
            self.log("too many",
                     count)
            return None
        for each in range(count):
            self.log("one", each)
            self.log('one', each)
        try:
            with self.lock(thing):
                thing.hand_over(count)
        except ValueError as error:
            self.log("lost", error)
        else:
            self.done = True
        return count

    @property
    def open(self):
        def inner():
            return self.size
        return inner


def sell(count):
    return count
'''


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """A package of two modules: `shop`, and `far.away` with a function that is in no other."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "__init__.py").write_text("X = 1\n")
    (tmp_path / "far" / "away.py").write_text("def travel(where):\n    return where.reached(by='sea')\n")
    (tmp_path / "shop.py").write_text(SHOP)
    return Package(tmp_path)


def mutate(package: Package, at: str, find: str, replace: str, nth: int | None = None) -> str:
    return package.mutate_module(SHOP, at, find, replace, nth)


@pytest.mark.parametrize(
    ("at", "find", "replace", "shown"),
    [
        ("shop:Shop.sell", "count  >self.size", "False", "if False and thing.known:"),
        ("shop:Shop.sell", "thing.known", "", "if count > self.size:"),
        ("shop:Shop.sell", "self.log( 'too many', count )", "", "known:\n            return None"),
        ("shop:Shop.sell", "self.log('too many', count)", "pass", "known:\n            pass\n"),
        ("shop:Shop.sell", "return None", "break", "            break\n"),
        ("shop:Shop.sell", "if count > self.size and thing.known: ...", "", '"""Sell."""\n        for each'),
        ("shop:Shop.sell", "with self.lock(thing): ...", "...", "try:\n            thing.hand_over(count)\n"),
        ("shop:Shop.sell", "for each in range(count): ...", "for each in SQL: ...", "in SQL:\n            self.log("),
        ("shop:Shop.sell", "thing.hand_over(count)", "", "with self.lock(thing):\n                pass"),
        ("shop:Shop.sell", "except ValueError as error: ...", "except Shop: ...", "except Shop:\n            self.log"),
        ("shop:Shop.sell", "self.log('lost', ...)", "self.lose(...)", "self.lose(error)"),
        ("shop:Shop.sell", "1", "2", "count=2"),
        ("shop:LIMITS", "deep=True", "deep=False", "deep=False"),
        ("shop:LIMITS", "deep=True", "", "price_of('x')}"),
        ("shop:LIMITS", "price_of(...)", "max(...)", "max('x', deep=True)"),
        ("shop:LIMITS", '"low": 1', "", "LIMITS = {'high'"),
        ("shop:LIMITS", '"low": 1', '"low": 2, "mid": 3', "{'low': 2, 'mid': 3, 'high'"),
        ("shop:SQL", "\"...CHECK (b <> '')...\"", '"...CHECK (TRUE)..."', r"(b TEXT)\n    CHECK (TRUE)'"),
        ("shop:Shop.size", "3", "4", "size: int = 4"),
        ("shop:Shop.open", "property", "", "\n\n    def open"),
        ("shop:Shop.open.inner", "self.size", "0", "return 0"),
        ("shop", "def sell(count): ...", "def sell(count): return 0", "def sell(count):\n    return 0"),
    ],
)  # fmt: skip
def test_a_fragment_is_replaced_where_it_is(
    package: Package, at: str, find: str, replace: str, shown: str
) -> None:
    """White space and quotes do not matter, `...` stands for what is there, and nothing left out is nothing there."""
    mutated = mutate(package, at, find, replace)
    assert shown in mutated
    assert package.find_place(at, find, replace, None)


def test_one_of_several_is_named_by_its_number(package: Package) -> None:
    """Where the definition has the fragment twice, which of them is meant must be said."""
    with pytest.raises(AnchorError, match="2 times, in lines 17, 18: add `nth`"):
        mutate(package, "shop:Shop.sell", "self.log('one', each)", "")
    text = mutate(package, "shop:Shop.sell", "self.log('one', each)", "pass", 2)
    assert "self.log('one', each)\n            pass" in text
    with pytest.raises(AnchorError, match="2 times, and nth is 3"):
        mutate(package, "shop:Shop.sell", "self.log('one', each)", "", 3)


@pytest.mark.parametrize(
    ("at", "find", "said"),
    [
        ("shop:Shop.sell", "count > self.sizes", "most similar there: line 12 `count > self.size`"),
        ("shop:Shop.sell", "where.reached(by='sea')", "the fragment is in far.away:travel"),
        ("shop:Shop.travel", "where.gone", "`travel` is also far.away:travel"),
        ("shop:Shop.sel", "gone", "the most similar names are shop:Shop.sell"),
        ("shops:sell", "gone", "no module shops; `sell` is also shop:Shop.sell, shop:sell"),
        ("shop:Shop.sell", "while while", "cannot be read as Python"),
    ],
)
def test_a_lost_anchor_names_the_nearest(package: Package, at: str, find: str, said: str) -> None:
    """Whoever moved the code is told where it may be now."""
    with pytest.raises(AnchorError) as raised:
        package.find_place(at, find, "", None)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("find", "replace", "said"),
    [
        ("self.lock(thing)", "", "cannot be left out"),
        ("self.log('lost', error)", "print(...)", "more `...` than"),
        ("self.done = True", "self.done = Gone(every for every in thing)", "its module has no Gone"),
    ],
)
def test_what_cannot_be_replaced_so_is_told(package: Package, find: str, replace: str, said: str) -> None:
    """A mutation that would be no Python, or name what its module does not know, is refused and not run."""
    with pytest.raises(AnchorError, match=said):
        mutate(package, "shop:Shop.sell", find, replace)

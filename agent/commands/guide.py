"""`agent guide`: prints the guide, a page at a time."""

from ..errors import UsageError
from ..guide.pages import PAGES, read_page, read_title
from .output import write


def guide(page: str | None = None, /) -> None:
    """Print a page of the guide; without a name, the list of its pages.

    A server shows the same pages at `/guide`.

    Example: agent guide quickstart

    Parameters
    ----------
    page
        The name of the page.
    """
    if page is None:
        for name in PAGES:
            write(f"{name:<11} {read_title(read_page(name))[1]}\n")
    elif page in PAGES:
        write(read_page(page))
    else:
        raise UsageError(f"the guide has no page {page}: choose {', '.join(PAGES)}")

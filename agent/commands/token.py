"""`agent token`: signs a token that names a user until a time, as a website's backend does."""

import re
from typing import Annotated

from cyclopts import Parameter

from ..errors import UsageError
from ..host import WallClock
from ..server.settings import MAKE_SIGN_KEY, SIGN_KEY_MIN
from ..server.signed_users import sign_user
from ..server.users import NAME_RULE, is_user_name
from .output import OK, write
from .settings import CONFIG_FILE, read_settings

_TIME = re.compile(r"([1-9][0-9]{0,7})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DAYS_MOST = 366


def token(
    name: str,
    /,
    *,
    time: Annotated[str, Parameter(name="--for")] = "1h",
    sign_key: str | None = None,
) -> int:
    """Print a token that opens the WebSocket as one user until a time, for your website's page.

    The key is that of the server: AGENT_SIGN_KEY, or sign_key in agent.toml.

    Example: agent token ana --for 1h

    Parameters
    ----------
    name
        The user's name.
    time
        How long the token is good: a number and s, m, h or d; at most 366d.
    sign_key
        The key. Set it as AGENT_SIGN_KEY: other users of this machine can read flags.
    """
    found = _TIME.fullmatch(time)
    seconds = int(found[1]) * _SECONDS[found[2]] if found is not None else 0
    if not 0 < seconds <= _DAYS_MOST * _SECONDS["d"]:
        raise UsageError(f"--for must be a number and s, m, h or d, such as 90m, and at most {_DAYS_MOST}d")
    if not is_user_name(name):
        raise UsageError(f"a user's name must be {NAME_RULE}")
    key = read_settings(() if sign_key is None else (f"--sign-key={sign_key}",)).server.sign_key
    if key is None:
        raise UsageError(
            f"no key signs tokens here: set AGENT_SIGN_KEY, or sign_key in {CONFIG_FILE}, here and for the server, to "
            f"at least {SIGN_KEY_MIN} characters: {MAKE_SIGN_KEY}"
        )
    write(sign_user(key, name, WallClock().now_ms() // 1000 + seconds) + "\n")
    return OK

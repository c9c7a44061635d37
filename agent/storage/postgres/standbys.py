"""Whether a failover of a PostgreSQL server can lose confirmed writes.

A commit waits for a standby where the settings of the server say so; any user can read them. The view of the standbys
shows a user without the role `pg_read_all_stats` how many there are, and nothing else of them; so the settings decide.

A standby that is not synchronous may lack the last claims when it becomes the primary server: then an action that has
run can be claimed again.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa

_ASK: Final = sa.text(
    """SELECT (SELECT count(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'),
    current_setting('synchronous_standby_names') <> ''
    AND current_setting('synchronous_commit') NOT IN ('off', 'local')"""
)


class Standbys(NamedTuple):
    """The standbys of a server: how many are connected, and whether a commit waits for one of them."""

    connected: int
    is_waited_for: bool

    @property
    def danger(self) -> str:
        """The risk that the standbys leave, in one sentence with the remedy; "" for none."""
        if self.connected and not self.is_waited_for:
            return (
                "the server has a standby and none that is synchronous, so a failover may forget a claim and run an "
                "action twice: set synchronous_standby_names on the server"
            )
        if self.is_waited_for and not self.connected:
            return "the server waits for a synchronous standby and has none, so it takes no writes: start the standby"
        return ""

    @property
    def missing(self) -> str:
        """Why no synchronous standby has all that is answered, in one sentence with the remedy; "" where one has."""
        if self.connected and self.is_waited_for:
            return ""
        return (
            "the server has no synchronous standby, which --require-sync asks for: start one and set "
            "synchronous_standby_names on the server, or leave --require-sync out"
        )


def read_standbys(connection: sa.Connection) -> Standbys:
    """Return the standbys of the server, as they are now."""
    connected, is_waited_for = connection.execute(_ASK).one()
    return Standbys(int(connected), bool(is_waited_for))

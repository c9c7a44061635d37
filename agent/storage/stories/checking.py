"""Reads all rows of all stories and lists what cannot be: holes, two active versions, references that lead nowhere.

The database refuses most of it by itself (`schema.py`); a file that another program changed, or a broken disk, may have
it all the same.
"""

from typing import Final

import sqlalchemy as sa

from ..dialect import list_damage

_CHECKS: Final = {
    "scene {} of branch {} has more than one active version": """
        SELECT s.seq, s.branch FROM scenes s JOIN versions v ON v.scene = s.number
        WHERE v.status = 'active' GROUP BY s.number, s.seq, s.branch HAVING count(*) > 1""",
    "scene {} of branch {} follows no scene": """
        SELECT s.seq, s.branch FROM scenes s JOIN branches b ON b.number = s.branch
        JOIN versions v ON v.scene = s.number AND v.status = 'active'
        WHERE s.seq <= b.cut OR (s.seq > b.cut + 1 AND NOT EXISTS (
            SELECT 1 FROM scenes p JOIN versions w ON w.scene = p.number AND w.status = 'active'
            WHERE p.branch = s.branch AND p.seq = s.seq - 1))""",
    "branch {} begins after scene {}, which is not there": """
        SELECT b.number, b.cut FROM branches b WHERE b.parent IS NOT NULL AND b.cut > 0 AND NOT EXISTS (
            SELECT 1 FROM scenes s JOIN versions v ON v.scene = s.number AND v.status = 'active'
            WHERE s.branch = b.parent AND s.seq = b.cut)""",
    "branch {} of story {} comes from a branch of another story": """
        SELECT b.number, b.story FROM branches b JOIN branches p ON p.number = b.parent
        WHERE p.story <> b.story OR b.depth <> p.depth + 1""",
    "version {} of scene {} has no words": """
        SELECT v.number, v.scene FROM versions v LEFT JOIN version_words w ON w.version = v.number
        WHERE w.text IS NULL OR w.text = ''""",
    "state {} of branch {} belongs to another scene": """
        SELECT t.number, t.branch FROM states t LEFT JOIN versions v ON v.number = t.version
        LEFT JOIN scenes s ON s.number = v.scene
        WHERE t.version IS NOT NULL AND (s.branch IS NULL OR s.branch <> t.branch OR s.seq <> t.seq)""",
    "state {} of branch {} counts though its version does not, or the other way round": """
        SELECT t.number, t.branch FROM states t LEFT JOIN versions v ON v.number = t.version
        WHERE t.counts <> CASE WHEN t.version IS NULL OR v.status = 'active' THEN 1 ELSE 0 END""",
}


def list_faults(most: int, connection: sa.Connection) -> tuple[str, ...]:
    """Return the faults of all stories, at most `most` of each kind; nothing for a sound database."""
    faults = [*list_damage(connection, most)]
    for sentence, query in _CHECKS.items():
        rows = connection.exec_driver_sql(query).fetchmany(most)
        faults += [sentence.format(*row) for row in rows]
    return tuple(faults)

"""Changes a data folder behind the back of a program that does not run: damaged rows, and times of a clock that ran ahead."""
import re
import sqlite3
import time

# Tables whose rows are no records: the parts of the indexes of words, and what SQLite keeps for itself.
PARTS = re.compile(r"sqlite_|.*_(config|content|data|docsize|idx)$")
MILLISECONDS = re.compile(r"(?<![\w.\"])1[789]\d{11}(?![\w.\"])")


class DataFolder:
    """The main database of a program that was stopped or killed."""

    def __init__(self, recado):
        assert recado.process.poll() is not None, "the program runs"
        self.base = sqlite3.connect(recado.folder / "data" / "recado.db", isolation_level=None)

    def __enter__(self):
        self.base.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind, *_):
        self.base.execute("ROLLBACK" if kind else "COMMIT")
        self.base.close()

    def tables(self):
        names = [name for name, in self.base.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")]
        return [name for name in names if not PARTS.match(name)]

    def columns(self, table):
        """The names of a table's columns with their types, and those of its primary key."""
        found = self.base.execute(f"PRAGMA table_info({table})").fetchall()
        keys = [row[1] for row in sorted(found, key=lambda row: row[5]) if row[5]]
        return [(row[1], row[2].upper()) for row in found], keys

    def update(self, table, changes, key, values):
        """Changes columns of one row, whatever the triggers of its table allow."""
        triggers = self.base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)).fetchall()
        for name, _ in triggers:
            self.base.execute(f"DROP TRIGGER {name}")
        where = " AND ".join(f"{name} IS ?" for name in key)
        assigned = ", ".join(f"{name} = ?" for name in changes)
        count = self.base.execute(f"UPDATE {table} SET {assigned} WHERE {where}", (*changes.values(), *values)).rowcount
        assert count == 1, f"{table}: {count} rows"
        for _, sql in triggers:
            self.base.execute(sql)

    def parts(self):
        """The tables, and in place of the one of all kinds of records those kinds, each as its name, its table and a condition."""
        kinds = self.base.execute("SELECT DISTINCT substr(partition, 1, instr(partition, '#') - 1) FROM records").fetchall()
        tables = [(name, name, "1") for name in self.tables() if name != "records"]
        return tables + [(kind, "records", f"partition GLOB '{kind}#*'") for kind, in kinds]

    def damage(self, owner, spared, how):
        """Damages the JSON of one row of each table, and of each kind of records: of one that names `owner` where there is one, and of
        none that names `spared`. Returns the tables and kinds."""
        damaged = []
        for part, table, condition in self.parts():
            columns, key = self.columns(table)
            for column, _ in columns:
                names = ", ".join(key or ["rowid"])
                rows = self.base.execute(f"SELECT {column}, {names} FROM {table} WHERE {condition} AND typeof({column}) = 'text' "
                                         f"AND substr({column}, 1, 1) = '{{' AND instr({column}, ?) = 0 "
                                         f"ORDER BY instr({column}, ?) > 0, {names}", (spared, owner)).fetchall()
                if rows:
                    text, *values = rows[-1]
                    self.update(table, {column: how(text)}, key or ["rowid"], values)
                    damaged.append(part)
        return damaged

    def damage_all(self, wanted, how):
        """Damages the JSON of all rows of a table, or of all records of a kind, whose column is called `body`."""
        for part, table, condition in self.parts():
            if part == wanted:
                _, key = self.columns(table)
                for text, *values in self.base.execute(f"SELECT body, {', '.join(key)} FROM {table} WHERE {condition}").fetchall():
                    self.update(table, {"body": how(text)}, key, values)

    def run_ahead(self, seconds):
        """Moves all times of about now ahead, as a clock would have written them that ran so far ahead; returns their number."""
        now, ahead, moved = time.time() * 1000, int(seconds * 1000), 0

        def is_near(value):
            return now - 3_600_000 < value < now + 86_400_000

        def shift(found):
            return str(int(found[0]) + ahead) if is_near(int(found[0])) else found[0]

        for table in self.tables():
            columns, key = self.columns(table)
            key = key or ["rowid"]
            names = [name for name, _ in columns]
            for row in self.base.execute(f"SELECT {', '.join(key)}, {', '.join(names)} FROM {table}").fetchall():
                values, fields = row[:len(key)], dict(zip(names, row[len(key):]))
                changes = {}
                for name, value in fields.items():
                    new = value
                    if isinstance(value, int) and is_near(value):
                        new = value + ahead
                    elif isinstance(value, str) and value[:1] == "{":
                        new = MILLISECONDS.sub(shift, value)
                    if new != value:
                        changes[name] = new
                if changes:
                    self.update(table, changes, key, values)
                    moved += 1
        return moved

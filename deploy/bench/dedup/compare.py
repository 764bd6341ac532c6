#!/usr/bin/env python3
"""Run DuckDB's distinct + anti-join on the files of `dedup gen DIR N`.

usage: compare.py DIR THREADS

Prints a line a kind of candidates, best of three of the faster of two ways to
write the query, and checks that the number of rows is what `dedup run` wrote.
"""
import sys
import time

try:
    import duckdb
except ImportError:
    sys.exit("compare.py: the Python package `duckdb` is absent: pip install duckdb")

QUERIES = {
    "distinct after anti-join": """
        SELECT DISTINCT partition, domain, host, url FROM '{c}' AS c
        ANTI JOIN '{k}' AS k USING (url) ORDER BY partition, domain, host, url""",
    "anti-join after distinct": """
        SELECT * FROM (SELECT DISTINCT partition, domain, host, url FROM '{c}') AS c
        ANTI JOIN '{k}' AS k USING (url) ORDER BY partition, domain, host, url""",
}


def main(folder, threads):
    db = duckdb.connect()
    db.execute(f"SET threads = {threads}")
    db.execute("SET preserve_insertion_order = false")
    for kind in ("narrow", "wide", "thin"):
        best, way, cpu = 1e9, "", 1e9
        for name, query in QUERIES.items():
            sql = query.format(c=f"{folder}/{kind}.parquet", k=f"{folder}/known.parquet")
            for _ in range(3):
                began, used = time.monotonic(), time.process_time()
                db.execute(f"COPY ({sql}) TO '{folder}/{kind}-duckdb.parquet' (FORMAT parquet, COMPRESSION zstd)")
                seconds = time.monotonic() - began
                cpu = min(cpu, time.process_time() - used)
                if seconds < best:
                    best, way = seconds, name
        rows = db.execute(f"SELECT count(*) FROM '{folder}/{kind}-duckdb.parquet'").fetchone()[0]
        ours = db.execute(f"SELECT count(*) FROM read_parquet('{folder}/{kind}.new-*')").fetchone()[0]
        same = "" if rows == ours else f" DIFFERS: dedup run wrote {ours}"
        print(f"{kind} threads={threads} seconds={best:.3f} cpu={cpu:.3f} new={rows} duckdb={duckdb.__version__}"
              f" ({way}){same}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))

#!/bin/sh
# The dedup benchmark: Seine against DuckDB on the same files, two threads and one.
# usage: run.sh [DIR [N]]   N known URLs, 20 million by default (some 1.5 GB in DIR)
set -eu
dir=${1:-/tmp/seine-dedup}
n=${2:-20000000}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
(cd "$here" && go build -o "$dir/dedup" .)
[ -e "$dir/known.parquet" ] || "$dir/dedup" gen "$dir" "$n"
for threads in 2 1; do
    echo "seine:"
    GOMAXPROCS=$threads "$dir/dedup" run "$dir" $threads
    echo "duckdb:"
    "${PYTHON:-python3}" "$here/compare.py" "$dir" $threads
done

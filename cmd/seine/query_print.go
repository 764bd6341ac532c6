//go:build cgo

package main

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// printRows prints an answer as a table, CSV or JSON lines, as it comes.
func printRows(rows *sql.Rows, format string, out io.Writer) (err error) {
	defer func() {
		if cerr := rows.Close(); err == nil && cerr != nil {
			err = sqlError(cerr)
		}
	}()
	types, err := rows.ColumnTypes()
	if err != nil {
		return sqlError(err)
	}
	names, kinds := make([]string, len(types)), make([]string, len(types))
	for i, t := range types {
		names[i], kinds[i] = t.Name(), t.DatabaseTypeName()
	}
	p := newPrinter(format, out, names)
	values, places := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return sqlError(err)
		}
		for i, v := range values {
			values[i] = plain(v, kinds[i])
		}
		if err := p.row(values); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return sqlError(err)
	}
	return p.finish()
}

// plain turns a value of DuckDB into what JSON can say: nil, bool, numbers,
// string, lists, and objects with their fields in order.
func plain(v any, kind string) any {
	switch v := v.(type) {
	case time.Time:
		return timeText(v, kind)
	case *big.Int:
		return json.Number(v.String())
	case duckdb.Decimal:
		return json.Number(v.String())
	case duckdb.UUID:
		return v.String()
	case []byte:
		if kind == "UUID" && len(v) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
		}
		return hex.EncodeToString(v)
	case float32:
		return finite(float64(v), 32)
	case float64:
		return finite(v, 64)
	case duckdb.Interval:
		return fmt.Sprintf("%d months %d days %s", v.Months, v.Days, time.Duration(v.Micros)*time.Microsecond)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i], "")
		}
		return out
	case map[string]any:
		return fieldsOf(v)
	case duckdb.OrderedMap:
		out := make(pairs, v.Len())
		for i, k := range v.Keys() {
			out[i] = pair{cellText(plain(k, "")), plain(v.Values()[i], "")}
		}
		return out
	}
	return v
}

// fieldsOf are a struct's fields; the driver has lost their order.
func fieldsOf(m map[string]any) pairs {
	out := make(pairs, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair{k, plain(m[k], "")})
	}
	return out
}

func timeText(t time.Time, kind string) string {
	switch kind {
	case "DATE":
		return t.Format("2006-01-02")
	case "TIME", "TIMETZ":
		return t.Format("15:04:05.999999")
	case "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		return t.UTC().Format("2006-01-02T15:04:05.999999")
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999Z")
}

// finite is a float, or null where JSON has no number for it.
func finite(f float64, bits int) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	if bits == 32 {
		return float32(f)
	}
	return f
}

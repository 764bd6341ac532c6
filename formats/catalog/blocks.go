package catalog

import (
	"fmt"
	"strings"

	"seine/formats/schema"
)

// Block is a row of the view blocks: what is blocked, why and by whom.
type Block struct {
	What   string // "domain:example.com", as rules write it
	Reason string
	By     string
	At     int64 // ms
	Until  int64 // ms; 0: for good
}

// Blocks is the view of blocks. They are kept in the versions of the settings,
// because workers must heed them within seconds, and so are no object that could
// be scanned: the view is their text.
func Blocks(blocks []Block) View {
	v := View{Name: schema.Blocks, Doc: "What is blocked by `seine block`: why, by whom, until when."}
	if len(blocks) == 0 {
		v.SQL = "SELECT NULL::VARCHAR AS kind, NULL::VARCHAR AS value, NULL::VARCHAR AS reason,\n" +
			"  NULL::VARCHAR AS \"by\", NULL::TIMESTAMPTZ AS \"at\", NULL::TIMESTAMPTZ AS until\n" +
			"WHERE false"
		return v
	}
	rows := make([]string, len(blocks))
	for i, b := range blocks {
		kind, value, _ := strings.Cut(b.What, ":")
		rows[i] = fmt.Sprintf("  (%s, %s, %s, %s, make_timestamp_ms(%d)::TIMESTAMPTZ, %s)", text(kind),
			text(value), text(b.Reason), text(b.By), b.At, instant(b.Until))
	}
	v.SQL = "SELECT * FROM (VALUES\n" + strings.Join(rows, ",\n") +
		")\n  AS b(kind, value, reason, \"by\", \"at\", until)"
	return v
}

func instant(ms int64) string {
	if ms == 0 {
		return "NULL::TIMESTAMPTZ"
	}
	return fmt.Sprintf("make_timestamp_ms(%d)::TIMESTAMPTZ", ms)
}

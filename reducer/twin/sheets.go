package twin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/reducer/task"
)

// WithSheets keeps sheets, written as CSV, in the store of e and makes every version
// of its settings name them.
func WithSheets(ctx context.Context, e task.Env, csv string) (task.Env, error) {
	b := &sheet.Builder{Suffixes: e.Suffixes}
	if err := b.ReadCSV(strings.NewReader(csv)); err != nil {
		return e, err
	}
	text, _, err := b.Encode()
	if err != nil {
		return e, err
	}
	sum := sha256.Sum256(text)
	file := settings.File{Digest: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}
	if err := e.Store.Put(ctx, layout.Upload(file.Digest), objstore.Bytes(text),
		objstore.PutOptions{IfAbsent: true, Same: true}); err != nil {
		return e, err
	}
	before := e.Settings
	e.Settings = func(ctx context.Context, version uint64) (settings.Settings, error) {
		s, err := before(ctx, version)
		s.Sheets = "sheets.csv"
		s.Files = map[string]settings.File{settings.SheetsName(s.Sheets): file}
		return s, err
	}
	return e, nil
}

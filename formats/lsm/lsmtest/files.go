package lsmtest

import (
	"bufio"
	"context"
	"errors"
	"os"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// URL is the row of the known table.
type URL = schema.URL

// WriteKnown writes the corpus as a run of one object: path and path.side.
func (c *Corpus) WriteKnown(path string) (lsm.Object, error) {
	data, err := os.Create(path)
	if err != nil {
		return lsm.Object{}, err
	}
	side, err := os.Create(path + ".side")
	if err != nil {
		return lsm.Object{}, errors.Join(err, data.Close())
	}
	bufData, bufSide := bufio.NewWriterSize(data, 1<<20), bufio.NewWriterSize(side, 1<<20)
	w := lsm.URLs().NewWriter(bufData, bufSide, path, path+".side", layout.All, rowfile.Options{})
	err = c.Known(w.Write)
	var o lsm.Object
	if err == nil {
		o, err = w.Finish()
	}
	return o, errors.Join(err, bufData.Flush(), bufSide.Flush(), data.Close(), side.Close())
}

// OpenKnown describes a file that WriteKnown wrote.
func OpenKnown(ctx context.Context, path string) (lsm.Object, error) {
	data, err := os.Stat(path)
	if err != nil {
		return lsm.Object{}, err
	}
	side, err := os.Stat(path + ".side")
	if err != nil {
		return lsm.Object{}, err
	}
	src, err := OpenPath(ctx, path, data.Size())
	if err != nil {
		return lsm.Object{}, err
	}
	f, err := rowfile.Open[URL](src, data.Size(), rowfile.ReadOptions{Columns: []string{"url"}})
	if err != nil {
		return lsm.Object{}, err
	}
	return lsm.Object{Key: path, Range: layout.All, Rows: f.NumRows(), Bytes: data.Size(),
		Sidecar: path + ".side", SidecarBytes: side.Size()}, nil
}

// WriteCandidates writes candidates of a shape to a file, packed as fetch tasks pack
// what they discover.
func (c *Corpus) WriteCandidates(path string, seed uint64, s Shape) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 1<<20)
	w := rowfile.NewWriter[Candidate](buf, rowfile.Options{Codec: rowfile.ZstdFast})
	err = c.Candidates(seed, s, func(k lsm.Key) error {
		return w.WriteRow(&Candidate{int32(k.Partition), k.Domain, k.Host, k.URL})
	})
	if err == nil {
		err = w.Finish()
	}
	return errors.Join(err, buf.Flush(), out.Close())
}

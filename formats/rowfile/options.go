package rowfile

import (
	"errors"
	"sync/atomic"
)

// ErrCorrupt marks a file that contradicts itself: damaged, cut short or no
// Parquet of ours. Errors wrap it with what was wrong; callers add the name.
var ErrCorrupt = errors.New("damaged Parquet file")

// Codec is how pages are compressed.
type Codec int

// Codecs. Zstd is the default; ZstdFast is for files that live for a round and
// are written again then; Snappy and None are for tests and scratch.
const (
	Zstd Codec = iota
	Snappy
	None
	ZstdFast
)

// Defaults and bounds.
const (
	// DefaultPageRows: small enough that a lookup decodes little beside its row,
	// large enough that page headers and indexes stay below 2 bytes a row.
	DefaultPageRows = 1024
	// DefaultGroupRows bounds what a writer holds back: a row group's compressed
	// pages are kept until it ends, because dictionaries precede them.
	DefaultGroupRows = 1 << 20
	// pageBytes ends a page early where rows are large (text of web pages), and
	// groupBytes a row group: uncompressed bytes of strings, over all columns.
	pageBytes  = 192 << 10
	groupBytes = 256 << 20
	// columnBuffer is the room in bytes that each column begins with, and where
	// the library cuts its page by itself. A column whose values have at most
	// MaxAligned bytes never gets there before the writer has cut all columns.
	columnBuffer = 256 << 10
	// MaxAligned is the longest value in bytes with which a string column surely
	// cuts its pages where Writer.StartsPage says.
	MaxAligned = 32 << 10
	// dictionaryBytes is where a dictionary column goes on without dictionary.
	dictionaryBytes = 1 << 20
	// indexBytes is the length to which bounds in the page index are cut; 16, the
	// library's default, does not tell two URLs of a host apart.
	indexBytes = 256
	// MaxPage is the largest page in bytes, packed or not, that a reader accepts.
	MaxPage = 256 << 20
	// maxFooter is the largest footer in bytes that a reader accepts.
	maxFooter = 64 << 20
)

// Options say how a file is written. The zero value is right for tables.
type Options struct {
	Codec     Codec
	PageRows  int               // rows a page at most; 0: DefaultPageRows
	GroupRows int               // rows a row group at most; 0: DefaultGroupRows
	Metadata  map[string]string // key-value pairs for the footer
	// Partitioned rows have a column `partition`, ascending: the row offsets of
	// the partitions go to the footer.
	Partitioned bool
}

// ReadOptions say what of a file is read.
type ReadOptions struct {
	// Columns are the names of the top-level columns to read; nil reads all. The
	// fields of others stay zero.
	Columns []string
	// BufferBytes is how much a Scan reads ahead, over all columns; 0: 4 MiB,
	// negative: page by page.
	BufferBytes int
	// Borrow makes a Scan's strings point into the page as it was decoded: they are
	// valid as long as their row, and a page is not copied.
	Borrow bool
	// Stats, where set, counts what is read; several files may share one.
	Stats *Stats
}

// Stats counts the work of reading. It may be shared by goroutines.
type Stats struct {
	Rows     atomic.Int64 // rows of the pages decoded, of each file by the column with most
	Pages    atomic.Int64 // data pages decoded, over all columns
	Bytes    atomic.Int64 // bytes read from the file
	Requests atomic.Int64 // calls of ReadAt
}

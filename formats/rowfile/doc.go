// Package rowfile is the Parquet files of a crawl: the only place that sets
// codec, encodings, page sizes and row groups, and the only one that decodes
// pages.
//
// A Writer turns a stream of rows (a struct of formats/schema; its tags name
// the columns) into one file. The same rows give the same bytes. A page holds
// at most Options.PageRows rows, and all columns cut their pages at the same
// rows, save columns with values beyond MaxAligned bytes. Files are ordinary
// Parquet that any reader reads; what is special hides in places that others
// skip:
//
//	PAR1 | pages, a row group after the other | column indexes | offset indexes |
//	seal: "SEINTAIL" crc(offset indexes) crc(footer) | footer | length | PAR1
//
// The footer's key-value metadata holds the caller's pairs, the row offsets of
// the partitions ("seine.partitions") and a checksum of the columns
// ("seine.columns"). Page payloads carry Parquet's own CRC.
//
// A File reads whole rows by columns: pages are decoded into typed slices and
// set into the fields of the row struct, without per-value interfaces. Scan
// reads in order, Gather reads the pages of given rows and joins their byte
// ranges, Strings gives one string column raw, for lookups. A column of the
// struct that the file lacks stays zero, so tables can gain columns; a file that
// contradicts itself is ErrCorrupt, never a panic, and no length that a damaged
// file claims is allocated before it was checked against the file's size and
// MaxPage.
//
// A Writer, a File and a Cursor belong to one goroutine each; several Files may
// read the same io.ReaderAt. Nothing here starts a goroutine or uses a pool that
// outlives it, so files can be written and read inside testing/synctest bubbles
// with every codec.
package rowfile

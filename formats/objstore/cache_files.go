package objstore

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A block file holds blockMagic, block size, CRC-32C of the data (little endian), the data. Its
// name is the key's digest and the block's number: DIR/ab/ab12…-7. It is written under a
// temporary name and renamed, without a sync: the checksum tells what a crash has left.
const blockMagic = "snBL"

const blockHead = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockFile is a block on disk, an element of the list of use.
type blockFile struct {
	digest string
	number int64
	bytes  int64 // of the file
}

// blockFiles is the disk side of a cache: bounded, least recently used first out.
type blockFiles struct {
	dir       string
	maxBytes  int64
	blockSize int64

	mu     sync.Mutex
	order  *list.List                         // of blockFile, most recently used first
	byKey  map[string]map[int64]*list.Element // digest, number
	bytes  int64
	hits   int64
	misses int64
}

func openBlockFiles(dir string, maxBytes, blockSize int64) (*blockFiles, error) {
	b := &blockFiles{dir: dir, maxBytes: maxBytes, blockSize: blockSize, order: list.New(),
		byKey: map[string]map[int64]*list.Element{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return b, b.scan()
}

// scan takes in the files of an earlier process, in the order of their times, and removes what
// is no block.
func (b *blockFiles) scan() error {
	type found struct {
		blockFile
		info fs.FileInfo
	}
	var all []found
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		digest, text, _ := strings.Cut(d.Name(), "-")
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || len(digest) != 2*sha256.Size || b.path(digest, number) != path {
			return os.Remove(path)
		}
		all = append(all, found{blockFile{digest, number, info.Size()}, info})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(x, y found) int { return x.info.ModTime().Compare(y.info.ModTime()) })
	for _, f := range all {
		b.add(f.blockFile)
	}
	b.evict()
	return nil
}

func digestOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func (b *blockFiles) path(digest string, number int64) string {
	return filepath.Join(b.dir, digest[:2], fmt.Sprintf("%s-%d", digest, number))
}

// add puts a file at the front of the list of use. The lock is held, or not needed yet.
func (b *blockFiles) add(f blockFile) {
	blocks := b.byKey[f.digest]
	if blocks == nil {
		blocks = map[int64]*list.Element{}
		b.byKey[f.digest] = blocks
	}
	if old, ok := blocks[f.number]; ok {
		b.bytes -= b.order.Remove(old).(blockFile).bytes
	}
	blocks[f.number] = b.order.PushFront(f)
	b.bytes += f.bytes
}

// drop removes a file, of the list and of the disk. The lock is held.
func (b *blockFiles) drop(e *list.Element) {
	f := b.order.Remove(e).(blockFile)
	b.bytes -= f.bytes
	delete(b.byKey[f.digest], f.number)
	if len(b.byKey[f.digest]) == 0 {
		delete(b.byKey, f.digest)
	}
	_ = os.Remove(b.path(f.digest, f.number)) // what stays is found by the next scan
}

func (b *blockFiles) evict() {
	for b.bytes > b.maxBytes {
		b.drop(b.order.Back())
	}
}

func (b *blockFiles) has(id blockID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.byKey[digestOf(id.key)][id.number]
	return ok
}

// get reads a block. One that is damaged is as if it had not been there.
func (b *blockFiles) get(id blockID) ([]byte, bool) {
	digest := digestOf(id.key)
	b.mu.Lock()
	e, ok := b.byKey[digest][id.number]
	if !ok {
		b.mu.Unlock()
		return nil, false
	}
	b.order.MoveToFront(e)
	b.mu.Unlock()

	data, ok := b.read(digest, id.number)
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.hits++
		return data, true
	}
	if b.byKey[digest][id.number] == e {
		b.drop(e)
	}
	return nil, false
}

func (b *blockFiles) read(digest string, number int64) ([]byte, bool) {
	file, err := os.ReadFile(b.path(digest, number))
	if err != nil || len(file) < blockHead || string(file[:4]) != blockMagic {
		return nil, false
	}
	data := file[blockHead:]
	ok := binary.LittleEndian.Uint64(file[4:]) == uint64(b.blockSize) &&
		binary.LittleEndian.Uint32(file[12:]) == crc32.Checksum(data, castagnoli)
	return data, ok
}

// put writes a block and evicts others. It does not if the block is stale: forget comes after
// the mark, so the block is either not written or dropped.
func (b *blockFiles) put(id blockID, data []byte, stale *atomic.Bool) {
	b.mu.Lock()
	b.misses++
	b.mu.Unlock()
	digest := digestOf(id.key)
	file := make([]byte, blockHead, blockHead+len(data))
	copy(file, blockMagic)
	binary.LittleEndian.PutUint64(file[4:], uint64(b.blockSize))
	binary.LittleEndian.PutUint32(file[12:], crc32.Checksum(data, castagnoli))
	path := b.path(digest, id.number)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return
	}
	_, err = temp.Write(append(file, data...))
	if closeErr := temp.Close(); err != nil || closeErr != nil {
		_ = os.Remove(temp.Name()) // what stays is found by the next scan
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if stale.Load() || os.Rename(temp.Name(), path) != nil {
		_ = os.Remove(temp.Name()) // as above
		return
	}
	b.add(blockFile{digest, id.number, int64(blockHead + len(data))})
	b.evict()
}

// forget drops all blocks of a key.
func (b *blockFiles) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := digestOf(key)
	for _, e := range b.byKey[digest] {
		b.drop(e)
	}
}

func (b *blockFiles) use() (hits, misses int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hits, b.misses
}

package rowfile

import (
	"fmt"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
)

// Levels are klauspost's: "default" costs a third more time than "fastest" and
// saves a tenth of the bytes.
const (
	zstdLevel     = zstd.SpeedDefault
	zstdFastLevel = zstd.SpeedFastest
)

// zstdCodec packs pages with an encoder of its own, so that no state is shared
// between files (nor between a synctest bubble and the world).
type zstdCodec struct{ encoder *zstd.Encoder }

func newZstdCodec(level zstd.EncoderLevel) (*zstdCodec, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(level), zstd.WithZeroFrames(true),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("new zstd encoder: %w", err)
	}
	return &zstdCodec{encoder: e}, nil
}

func (*zstdCodec) String() string                            { return "ZSTD" }
func (*zstdCodec) CompressionCodec() format.CompressionCodec { return format.Zstd }

func (c *zstdCodec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst[:0]), nil
}

func (c *zstdCodec) Decode(dst, src []byte) ([]byte, error) {
	d, err := newUnpacker(format.Zstd)
	if err != nil {
		return nil, err
	}
	return d.unpack(dst, src, MaxPage)
}

// packer returns the codec that writes with c.
func packer(c Codec) (compress.Codec, error) {
	switch c {
	case Zstd:
		return newZstdCodec(zstdLevel)
	case ZstdFast:
		return newZstdCodec(zstdFastLevel)
	case Snappy:
		return &parquet.Snappy, nil
	case None:
		return &parquet.Uncompressed, nil
	}
	return nil, fmt.Errorf("unknown codec %d", c)
}

// unpacker undoes a codec, within a known size.
type unpacker struct {
	codec format.CompressionCodec
	zstd  *zstd.Decoder
}

func newUnpacker(c format.CompressionCodec) (*unpacker, error) {
	u := &unpacker{codec: c}
	switch c {
	case format.Snappy, format.Uncompressed:
		return u, nil
	case format.Zstd:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(MaxPage), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("new zstd decoder: %w", err)
		}
		u.zstd = d
		return u, nil
	}
	return nil, fmt.Errorf("%w: codec %s is none of ours", ErrCorrupt, c)
}

// unpack decodes src, which must give size bytes, into dst's memory. Without
// compression the result is src itself.
func (u *unpacker) unpack(dst, src []byte, size int) ([]byte, error) {
	if u.codec == format.Uncompressed {
		return src, nil
	}
	if cap(dst) < size {
		dst = make([]byte, size)
	}
	var err error
	if u.zstd != nil {
		dst, err = u.zstd.DecodeAll(src, dst[:0])
	} else if n, lerr := snappy.DecodedLen(src); lerr != nil || n != size {
		err = fmt.Errorf("snappy block of %d bytes, not %d", n, size)
	} else {
		dst, err = snappy.Decode(dst[:size], src)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: unpack page: %w", ErrCorrupt, err)
	}
	if len(dst) != size {
		return nil, fmt.Errorf("%w: page of %d bytes, not %d", ErrCorrupt, len(dst), size)
	}
	return dst, nil
}

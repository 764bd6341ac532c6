// Package s3 is an object store in a bucket of Amazon S3 or a server that speaks its protocol.
// It is the only package that knows minio-go.
//
// Put-if-absent is If-None-Match: * on a single PUT request. It is never a multipart upload, for
// which the client library drops the condition without a word; a single PUT takes 5 GiB, and
// bodies can be read again, so that nothing is gained by parts. Every body goes with its CRC-32C,
// which the server checks; whole objects are checked on their way back where the server kept it.
//
// The package itself tries every request once, because only a caller knows whether a second try
// is safe: objstore.Retry is what stands above it. Timeouts, throttling, 5xx and broken
// connections are ErrUnavailable. A connection on which nothing moves for two minutes is broken.
// At most maxRequests run at once; others wait.
package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/minio/minio-go/v7"

	"seine/formats/objstore"
)

const (
	// maxRequests bounds the requests at once, and with them connections and memory.
	maxRequests = 64
	// maxConflicts is how often a put is repeated when the server says 409: it decided nothing,
	// because another put or delete of the key was under way.
	maxConflicts = 8
)

// Store is a store in a bucket, or below a prefix of it. Make one with Open.
type Store struct {
	client *minio.Core
	bucket string
	prefix string // with a slash at its end, or empty
	slots  chan struct{}
}

var _ objstore.Store = (*Store)(nil)

// Open opens the store at an address as ParseAddress reads it; env is os.Getenv. It makes no
// request: objstore.Probe says whether the bucket is there and can be used.
func Open(address string, env func(name string) string) (*Store, error) {
	a, err := ParseAddress(address, env)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(!a.Plain)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", address, err)
	}
	lookup := minio.BucketLookupDNS
	if a.PathStyle {
		lookup = minio.BucketLookupPath
	}
	client, err := minio.NewCore(a.Endpoint, &minio.Options{
		Creds:        credentialsFrom(env),
		Secure:       !a.Plain,
		Transport:    transport,
		Region:       a.Region,
		BucketLookup: lookup,
		MaxRetries:   1,
	})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", address, err)
	}
	s := &Store{client: client, bucket: a.Bucket, slots: make(chan struct{}, maxRequests)}
	if a.Prefix != "" {
		s.prefix = a.Prefix + "/"
	}
	return s, nil
}

// begin checks the key and takes a slot; the caller calls done.
func (s *Store) begin(ctx context.Context, op, key string) (done func(), err error) {
	if err := objstore.CheckKey(key); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return s.slot(ctx, op, key)
}

func (s *Store) slot(ctx context.Context, op, key string) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", op, key, err)
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s %s: %w", op, key, ctx.Err())
	}
}

// Get reads a whole object with one request, and checks its checksum if the server has one.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	done, err := s.begin(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	defer done()
	body, info, _, err := s.client.GetObject(ctx, s.bucket, s.prefix+key,
		minio.GetObjectOptions{Checksum: true})
	if err != nil {
		return nil, classify(ctx, "get", key, err)
	}
	if info.Size > objstore.MaxGet {
		return nil, errors.Join(fmt.Errorf("get %s: %d bytes are more than %d", key, info.Size,
			objstore.MaxGet), body.Close())
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size) + bytes.MinRead)
	_, err = buf.ReadFrom(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, classify(ctx, "get", key, err)
	}
	return buf.Bytes(), nil
}

// ReadAt is one request for a range.
func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s: offset %d is negative", key, off)
	}
	if len(p) == 0 {
		return 0, nil
	}
	done, err := s.begin(ctx, "read", key)
	if err != nil {
		return 0, err
	}
	defer done()
	var o minio.GetObjectOptions
	if err := o.SetRange(off, off+int64(len(p))-1); err != nil {
		return 0, fmt.Errorf("read %s: %w", key, err)
	}
	body, _, header, err := s.client.GetObject(ctx, s.bucket, s.prefix+key, o)
	if err != nil {
		if minio.ToErrorResponse(err).Code == "InvalidRange" {
			return 0, io.EOF
		}
		return 0, classify(ctx, "read", key, err)
	}
	got, want := header.Get("Content-Range"), fmt.Sprintf("bytes %d-", off)
	if !strings.HasPrefix(got, want) {
		return 0, errors.Join(fmt.Errorf("read %s: asked for %s…, got range %q", key, want, got),
			body.Close())
	}
	n, err := io.ReadFull(body, p)
	ended := errors.Is(err, io.ErrUnexpectedEOF) && endsAt(header.Get("Content-Range"), off+int64(n))
	if err == nil || ended {
		if err := body.Close(); err != nil {
			return n, classify(ctx, "read", key, err)
		}
		if ended {
			return n, io.EOF
		}
		return n, nil
	}
	return n, classify(ctx, "read", key, errors.Join(err, body.Close()))
}

// endsAt says whether a Content-Range, as in "bytes 5-9/10", ends where the object does, at end:
// else the connection broke.
func endsAt(contentRange string, end int64) bool {
	return strings.HasSuffix(contentRange, fmt.Sprintf("-%d/%d", end-1, end))
}

// Put is one PUT request, more only while the server says that it decided nothing, or breaks a
// large one off.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	err := s.put(ctx, key, body, o)
	if errors.Is(err, objstore.ErrUnavailable) && s.taken(ctx, key, body, o) {
		err = fmt.Errorf("put %s: %w", key, objstore.ErrExists)
	}
	if errors.Is(err, objstore.ErrExists) {
		return objstore.Exists(ctx, s, key, body, o)
	}
	return err
}

// largeBody is from where a body does not fit into the socket's buffers. A server
// that refuses the condition need not read such a body, and a client that still
// writes then sees a reset, not the refusal.
const largeBody = 64 << 10

// taken says whether it was the condition that broke a large put off: whether the key
// is taken, be it by a try of our own whose answer was lost.
func (s *Store) taken(ctx context.Context, key string, body objstore.Body, o objstore.PutOptions) bool {
	if !o.IfAbsent || body.Size() < largeBody {
		return false
	}
	_, err := s.Stat(ctx, key)
	return err == nil
}

func (s *Store) put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	done, err := s.begin(ctx, "put", key)
	if err != nil {
		return err
	}
	defer done()
	if body.Size() > objstore.MaxPut {
		return fmt.Errorf("put %s: %d bytes are more than %d", key, body.Size(), int64(objstore.MaxPut))
	}
	sum, err := digest(body)
	if err != nil {
		return fmt.Errorf("put %s: read body: %w", key, err)
	}
	// What "disables" the SHA-256 is a signature for each piece of the body: ours covers it all.
	options := minio.PutObjectOptions{DisableContentSha256: true}
	if o.IfAbsent {
		options.SetMatchETagExcept("*")
	}
	for range maxConflicts {
		_, err = s.client.PutObject(ctx, s.bucket, s.prefix+key, body.Reader(), body.Size(), "", sum,
			options)
		if !undecided(err) {
			break
		}
	}
	if err != nil {
		return classify(ctx, "put", key, err)
	}
	return nil
}

// digest is the body's SHA-256 in hex.
func digest(body objstore.Body) (string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, body.Reader())
	if err == nil && n != body.Size() {
		err = fmt.Errorf("it ends at %d of %d bytes", n, body.Size())
	}
	return hex.EncodeToString(hash.Sum(nil)), err
}

// Stat is one HEAD request.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	done, err := s.begin(ctx, "stat", key)
	if err != nil {
		return objstore.Info{}, err
	}
	defer done()
	info, err := s.client.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return objstore.Info{}, classify(ctx, "stat", key, err)
	}
	return objstore.Info{Key: key, Size: info.Size, ModTime: info.LastModified}, nil
}

// List is a request for each thousand keys. fn holds no slot of the store's.
func (s *Store) List(ctx context.Context, prefix, after string,
	fn func(objstore.Info) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("list %s: %w", prefix, err)
	}
	o := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}
	if after != "" {
		o.StartAfter = s.prefix + after
	}
	for object := range s.client.Client.ListObjectsIter(ctx, s.bucket, o) {
		if object.Err != nil {
			return classify(ctx, "list", prefix, object.Err)
		}
		key := strings.TrimPrefix(object.Key, s.prefix)
		if strings.HasSuffix(key, "/") || key <= after {
			continue // a folder's mark, as other tools put them
		}
		err := fn(objstore.Info{Key: key, Size: object.Size, ModTime: object.LastModified})
		if errors.Is(err, fs.SkipAll) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("list %s: %w", prefix, err)
	}
	return nil
}

// Delete is a request for each thousand keys.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := objstore.CheckKey(key); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	done, err := s.slot(ctx, "delete", keys[0])
	if err != nil {
		return err
	}
	defer done()
	if len(keys) == 1 {
		err := s.client.RemoveObject(ctx, s.bucket, s.prefix+keys[0], minio.RemoveObjectOptions{})
		return ignoreMissing(classify(ctx, "delete", keys[0], err))
	}
	objects := func(yield func(minio.ObjectInfo) bool) {
		for _, key := range keys {
			if !yield(minio.ObjectInfo{Key: s.prefix + key}) {
				return
			}
		}
	}
	results, err := s.client.RemoveObjectsWithIter(ctx, s.bucket, objects,
		minio.RemoveObjectsOptions{})
	if err != nil {
		return classify(ctx, "delete", keys[0], err)
	}
	for result := range results {
		key := strings.TrimPrefix(result.ObjectName, s.prefix)
		if err := ignoreMissing(classify(ctx, "delete", key, result.Err)); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %s: %w", keys[0], err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, objstore.ErrNotExist) {
		return nil
	}
	return err
}

package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
	"seine/formats/objstore/s3"
	"seine/formats/objstore/storetest"
)

func TestConformance(t *testing.T) {
	gateway := storetest.StartGateway(t)
	n := 0
	storetest.Run(t, func(t *testing.T) objstore.Store {
		n++
		s, err := s3.Open(gateway.Address(fmt.Sprintf("crawls/%d", n)), gateway.Env)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestNoBucket(t *testing.T) {
	gateway := storetest.StartGateway(t)
	address := strings.Replace(gateway.Address(""), "s3://bucket", "s3://missing", 1)
	s, err := s3.Open(address, gateway.Env)
	if err != nil {
		t.Fatal(err)
	}
	err = objstore.Probe(t.Context(), s)
	if err == nil || errors.Is(err, objstore.ErrNotExist) ||
		!strings.Contains(err.Error(), "no such bucket") {
		t.Errorf("got %v, want it said that there is no bucket", err)
	}
}

func TestWrongSecret(t *testing.T) {
	gateway := storetest.StartGateway(t)
	s, err := s3.Open(gateway.Address(""), func(name string) string {
		return strings.Replace(gateway.Env(name), "secret", "guess", 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = objstore.Probe(t.Context(), s)
	if err == nil || errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("got %v, want an error that no patience helps", err)
	}
}

// serve opens a store on a server that answers as told.
func serve(t *testing.T, answer http.HandlerFunc) *s3.Store {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s, err := s3.Open("s3://bucket/p?endpoint="+server.URL, storetest.Gateway{}.Env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fail answers with an S3 error.
func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
}

func TestPutIsOneConditionalRequest(t *testing.T) {
	var requests []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		requests = append(requests, fmt.Sprintf("%s %s %s %d", r.Method, r.URL,
			r.Header.Get("If-None-Match"), n))
		if sum := r.Header.Get("X-Amz-Content-Sha256"); len(sum) != 64 {
			t.Errorf("body is not signed: %q", sum)
		}
	})
	body := objstore.Bytes(make([]byte, 40<<20))
	for _, o := range []objstore.PutOptions{{IfAbsent: true}, {}} {
		if err := s.Put(t.Context(), "k", body, o); err != nil {
			t.Error(err)
		}
	}
	want := []string{"PUT /bucket/p/k * 41943040", "PUT /bucket/p/k  41943040"}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestRefusedWithoutReading: a server that refuses a large conditional put at once, and
// closes, is understood.
func TestRefusedWithoutReading(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			return
		}
		panic(http.ErrAbortHandler)
	})
	body := objstore.Bytes(make([]byte, 8<<20))
	if err := s.Put(t.Context(), "k", body, objstore.PutOptions{IfAbsent: true}); !errors.Is(err,
		objstore.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if err := s.Put(t.Context(), "k", body, objstore.PutOptions{}); !errors.Is(err,
		objstore.ErrUnavailable) {
		t.Errorf("without a condition: got %v, want ErrUnavailable", err)
	}
}

func TestErrorClasses(t *testing.T) {
	other := errors.New("none of the classes")
	for _, test := range []struct {
		status int
		code   string
		want   error
	}{
		{404, "NoSuchKey", objstore.ErrNotExist},
		{404, "NoSuchBucket", other},
		{412, "PreconditionFailed", objstore.ErrExists},
		{409, "ConditionalRequestConflict", objstore.ErrUnavailable},
		{409, "ObjectParentIsFile", other},
		{503, "SlowDown", objstore.ErrUnavailable},
		{503, "", objstore.ErrUnavailable},
		{500, "InternalError", objstore.ErrUnavailable},
		{502, "", objstore.ErrUnavailable},
		{400, "RequestTimeout", objstore.ErrUnavailable},
		{429, "", objstore.ErrUnavailable},
		{507, "XMinioStorageFull", objstore.ErrFull},
		{403, "QuotaExceeded", objstore.ErrFull},
		{403, "AccessDenied", other},
		{501, "NotImplemented", other},
	} {
		t.Run(fmt.Sprintf("%d %s", test.status, test.code), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fail(w, test.status, test.code) })
			err := s.Put(t.Context(), "k", objstore.Bytes(nil), objstore.PutOptions{})
			got := other
			for _, class := range []error{objstore.ErrNotExist, objstore.ErrExists,
				objstore.ErrUnavailable, objstore.ErrFull} {
				if errors.Is(err, class) {
					got = class
				}
			}
			if err == nil || got != test.want {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

func TestConflictIsTriedAgain(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) < 3 {
			fail(w, 409, "ConditionalRequestConflict")
			return
		}
		fail(w, 412, "PreconditionFailed")
	})
	if err := objstore.PutIfAbsent(t.Context(), s, "k", nil); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if n.Load() != 3 {
		t.Errorf("%d requests, want 3", n.Load())
	}
}

func TestOneTryEach(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { n.Add(1); fail(w, 503, "SlowDown") })
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if n.Load() != 1 {
		t.Errorf("%d requests, want 1: only the caller knows what may be repeated", n.Load())
	}
}

func TestBrokenConnections(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Set("Content-Length", "10")
		if r.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", "bytes 0-9/10")
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write([]byte("1234"))
		panic(http.ErrAbortHandler)
	})
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("get: got %v", err)
	}
	n, err := s.ReadAt(t.Context(), "k", make([]byte, 20), 0)
	if !errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, io.EOF) && n == 4 {
		t.Errorf("read: got %d, %v; a broken connection is not the object's end", n, err)
	}
}

func TestIgnoredRange(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		_, _ = w.Write([]byte("0123456789"))
	})
	if n, err := s.ReadAt(t.Context(), "k", make([]byte, 3), 5); err == nil {
		t.Errorf("read %d bytes of the object's beginning as its middle", n)
	}
}

func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	s, err := s3.Open("s3://bucket?endpoint="+server.URL, storetest.Gateway{}.Env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

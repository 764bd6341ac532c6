package s3_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore/s3"
)

func TestParseAddress(t *testing.T) {
	for _, test := range []struct {
		name, address string
		env           map[string]string
		want          s3.Address
	}{
		{"amazon", "s3://b/crawl", nil,
			s3.Address{Bucket: "b", Prefix: "crawl", Endpoint: "s3.amazonaws.com"}},
		{"region of the environment", "s3://b", map[string]string{"AWS_REGION": "eu-west-1"},
			s3.Address{Bucket: "b", Endpoint: "s3.amazonaws.com", Region: "eu-west-1"}},
		{"own server", "s3://b/x/y/?endpoint=http://localhost:9000", nil,
			s3.Address{Bucket: "b", Prefix: "x/y", Endpoint: "localhost:9000", Plain: true,
				Region: "us-east-1", PathStyle: true}},
		{"endpoint of the environment", "s3://b?region=r",
			map[string]string{"AWS_ENDPOINT_URL": "https://minio.example"},
			s3.Address{Bucket: "b", Endpoint: "minio.example", Region: "r", PathStyle: true}},
		{"endpoint without a scheme", "s3://b?endpoint=h:1&path-style=false", nil,
			s3.Address{Bucket: "b", Endpoint: "h:1", Region: "us-east-1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := s3.ParseAddress(test.address, func(name string) string { return test.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := s3.ParseAddress(got.String(), func(string) string { return "" })
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("%s is read as (-want +got), %v:\n%s", got, err, diff)
			}
		})
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for _, address := range []string{"", "b", "s3://", "s3:///b", "http://b", "s3://b?endpiont=x",
		"s3://b?endpoint=ftp://x", "s3://b?endpoint=http://x/path", "s3://b/../c", "s3://u:p@b",
		"s3://b?path-style=yes", "s3://b?a;b", "s3://b/%00"} {
		if got, err := s3.ParseAddress(address, func(string) string { return "" }); err == nil {
			t.Errorf("%q is read as %+v", address, got)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("s3://b/crawl?endpoint=http://localhost:9000&region=r&path-style=true")
	f.Add("s3://b/%C3%BC%20x?endpoint=%5B::1%5D:9")
	f.Add("s3://b//x//")
	f.Fuzz(func(t *testing.T, address string) {
		none := func(string) string { return "" }
		a, err := s3.ParseAddress(address, none)
		if err != nil {
			return
		}
		again, err := s3.ParseAddress(a.String(), none)
		if err != nil || a != again {
			t.Errorf("%q is %+v, printed %s, which is %+v, %v", address, a, a, again, err)
		}
	})
}

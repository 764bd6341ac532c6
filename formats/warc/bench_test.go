package warc

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// BenchmarkWrite writes pages of the mean size at gzip 1, as a fetch task does.
func BenchmarkWrite(b *testing.B) {
	var page bytes.Buffer
	for i := 0; page.Len() < 82_600; i++ {
		fmt.Fprintf(&page, "<p class=\"c%d\">Paragraph %d has <a href=\"/page/%d\">a link</a></p>\n",
			i%7, i, i*7919%10007)
	}
	w, err := NewWriter(io.Discard, Options{})
	if err != nil {
		b.Fatal(err)
	}
	head := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", page.Len()))
	b.SetBytes(int64(page.Len()))
	for b.Loop() {
		_, _, err := w.Write(&Record{
			Type: TypeResponse, TargetURI: "http://h.test/", Date: when, HTTPHeader: head,
			Body: bytes.NewReader(page.Bytes()),
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(w.Offset())/float64(b.N), "B/record")
}

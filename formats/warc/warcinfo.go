package warc

import (
	"bytes"
	"time"
)

// Info says who made an archive and how: the fields of a warcinfo record. Empty ones are left out.
type Info struct {
	Filename        string // of the archive
	Operator        string // who is responsible
	Contact         string // how to reach them: an address or a URL
	Software        string // name/version
	UserAgent       string // as sent
	Robots          string // the policy, such as "obey (RFC 9309)"
	SettingsVersion string // of the crawl's settings
	Hostname        string
	Description     string
	IsPartOf        string // the crawl
	Extra           [][2]string
}

// Record makes the warcinfo record that begins an archive. id may be empty.
func (in Info) Record(id string, date time.Time) *Record {
	fields := [][2]string{
		{"software", in.Software}, {"format", "WARC File Format 1.1"},
		{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"operator", in.Operator}, {"contact", in.Contact}, {"http-header-user-agent", in.UserAgent},
		{"robots", in.Robots}, {"settings-version", in.SettingsVersion}, {"hostname", in.Hostname},
		{"description", in.Description}, {"isPartOf", in.IsPartOf},
	}
	var block bytes.Buffer
	for _, f := range append(fields, in.Extra...) {
		if f[1] != "" {
			writeField(&block, f[0], f[1])
		}
	}
	return &Record{
		Type: TypeInfo, ID: id, Date: date, Filename: in.Filename, ContentType: ContentFields,
		Body: bytes.NewReader(block.Bytes()),
	}
}

package warc

import (
	"slices"
	"time"
)

// An Exchange is what was asked and what came, to be archived as two records that name each other.
// What was spoken is said by the fields WARC-Protocol, one a protocol, and WARC-Cipher-Suite, as
// IIPC proposes them to extend WARC 1.1: of HTTP/2 the block cannot tell, being written as HTTP/1.
type Exchange struct {
	URI           string
	Date          time.Time // when the request was sent
	IP            string
	RawRequest    []byte
	RawHeader     []byte   // of the response, with its empty line; empty for HTTP/0.9
	RawBody       Content  // as it was transferred
	Truncated     string   // why RawBody is not all of it
	PayloadType   string   // as detected
	PayloadDigest string   // empty: computed
	Protocols     []string // spoken, by the names of WARC-Protocol: h2, tls/1.3; none: not known
	CipherSuite   string   // of TLS, by IANA's name; empty without TLS
	Seed          []string // what else sets this exchange apart, such as round and attempt
}

// Records makes the response record and the request record. They are to be written in that order.
func (x *Exchange) Records() (response, request *Record) {
	id := append([]string{x.URI, stamp(x.Date)}, x.Seed...)
	response = &Record{
		Type: TypeResponse, ID: RecordID(append(id, string(TypeResponse))...), Date: x.Date,
		TargetURI: x.URI, IP: x.IP, Truncated: x.Truncated, IdentifiedPayloadType: x.PayloadType,
		PayloadDigest: x.PayloadDigest, HTTPHeader: x.RawHeader, Body: x.RawBody,
	}
	request = &Record{
		Type: TypeRequest, ID: RecordID(append(id, string(TypeRequest))...), Date: x.Date,
		TargetURI: x.URI, IP: x.IP, HTTPHeader: x.RawRequest,
	}
	for _, protocol := range x.Protocols {
		response.Extra = append(response.Extra, [2]string{"WARC-Protocol", protocol})
	}
	if x.CipherSuite != "" {
		response.Extra = append(response.Extra, [2]string{"WARC-Cipher-Suite", x.CipherSuite})
	}
	request.Extra = slices.Clone(response.Extra)
	response.ConcurrentTo = []string{request.ID}
	request.ConcurrentTo = []string{response.ID}
	return response, request
}

// An Original is the capture that a revisit repeats. It must be in a committed snapshot.
type Original struct {
	ID   string // may be empty when unknown
	URI  string
	Date time.Time
	// PayloadDigest of the original, for both profiles.
	PayloadDigest string
}

// Revisit turns a response record into a revisit of profile: the header stays, the body goes. For a
// 304 that had a body none the less, nothing of that is kept.
func (r *Record) Revisit(profile string, of Original) {
	r.Type, r.Profile = TypeRevisit, profile
	r.RefersTo, r.RefersToTargetURI, r.RefersToDate = of.ID, of.URI, of.Date
	r.PayloadDigest, r.BlockDigest = of.PayloadDigest, ""
	r.Body, r.Truncated = nil, ""
}

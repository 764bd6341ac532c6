// Package sheet holds sheets: what is set otherwise for a domain with all below it,
// for a host, or for what starts with a prefix. A million of them load in seconds and
// are looked up in about a microsecond.
//
// Of several sheets that a URL falls under the most specific decides, field by field:
// a prefix before a host before a domain, a longer prefix before a shorter one, a
// subdomain before its domain.
//
//	for               delay  max_body  boost
//	example.org       2s               0.2     all but what follows
//	host:a.example.org       1MiB              2s and 0.2 of its domain, 1 MiB
//	example.org/big/         50MiB
//
// A person gives them as CSV, as YAML (ReadCSV, ReadYAML) or as rows of any other
// table (Builder). All end in one text (Builder.Encode): the distinct settings once
// each, then a line a sheet, with the line of the person's file. Open reads that. A
// Table never changes and may be asked by many goroutines; nil has no sheets.
package sheet

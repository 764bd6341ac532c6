// Command fetch measures what the fetch path costs beside a bare loop: CPU of
// this process alone, by getrusage, while the pages come from a server in
// another process, over HTTP and over TLS.
//
//	go run ./deploy/bench/fetch [-hosts N] [-runs N] [-mode http|tls|both] [-profile FILE]
//
// Both sides ask the same server for the same pages (about 80 kB of HTML, sent
// gzipped, 50 a host, 32 connections) with the same transport, mapper/http1:
//
//   - fetch: fetch.Run on a task's list, as a worker runs it: robots.txt, manners
//     (a delay of 1 ns, the least there is), text, hashes, links with verdicts, the
//     spool, chunks of WARC and Parquet sealed into a store on disk, the end.
//   - bare: each host's pages one after the other; gunzip, the tokenizer with every
//     attribute read, klauspost's gzip at level 1 of the page. No table, no spool.
//   - least: the same, but attributes are not read, and the gzip is of the body as
//     it came, which is small and already packed.
//
// They take turns, and each is reported by the median of its runs, so that what
// else the machine does falls on all of them alike. -profile writes a CPU
// profile of the fetch side alone.
package main

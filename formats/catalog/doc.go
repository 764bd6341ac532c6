// Package catalog is the SQL text of DuckDB's views over a snapshot: what the
// tables of a crawl are, for readers that know Parquet but not sorted runs. It is
// pure: a manifest, what is known of open rounds, and a way from keys to paths go
// in; views come out. The text runs in any DuckDB from 1.3 on.
//
// # Folded tables without a window
//
// A run table's rows are those that no list of superseded rows names (formats/lsm):
// one whole row a key, and for urls the deltas still to be added. A view reads
//
//	whole rows ANTI JOIN superseded ON (file, row number)
//	    LEFT JOIN deltas, grouped by url, ON url
//
// so it never sorts or groups the table. The first join costs a tenth of a second
// over 10 M rows, the second as much as reading all URLs. DuckDB takes a left join
// that is not needed out of a statement: from 2.0 on under a count or a group, 1.5 in
// no view. Whoever runs statements itself therefore plans a statement on Unfolded
// first: if the plan reads none of the columns Folded, it may run so, and counting or
// grouping by domain, host, reason or time costs the first join alone. Measured and
// rejected: deltas as one constant map beside the rows, which the planner does take
// out; where they are asked for it costs fifteen times the join.
//
// Every view exists in every snapshot with the same columns and types; where a
// table has no object yet, it is empty. Times are TIMESTAMP WITH TIME ZONE. Views
// name files by path: they stay right until the sweep deletes objects, and show
// the snapshot that they were made for.
package catalog

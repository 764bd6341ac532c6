// Package twin is the reducer's slow twin: a crawl's tables as maps and slices
// in memory, and what inject and generate do to them, written as plainly as
// the rules are (DESIGN §7). Tests run the product and the twin on the same
// random worlds and compare every row.
//
// It shares with the product only what has a test of its own: formats (rows,
// orders, scope, URLs) and the estimators of reducer/task. It reads a whole
// table where the product looks up, sorts where the product merges, and counts
// again where the product keeps counts.
//
// Save and Load carry a World to a store and back, through the product's
// writers, so that a test can start from any state.
package twin

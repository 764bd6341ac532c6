// Package ui shows a person how far jobs are: bars that are drawn over each
// other on a terminal, plain lines elsewhere (one when a stage changes and at
// most one each ten seconds), and the summary of a job that has ended. What is
// shown is made by pure functions (Lines, Line, Summary) of what the
// coordinator says of a job; Progress alone writes. A Progress is used by one
// goroutine.
package ui

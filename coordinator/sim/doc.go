// Package sim holds the coordinator's tests as a whole: Raft, leader, ledger and
// workers in virtual time, with deaths and faults. It has no code of its own.
package sim

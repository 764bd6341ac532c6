package api

import "context"

// Paths of what a coordinator answers as a member of a group. Those below
// PathGroup that change it take POST, the others GET. PathCrawl every coordinator
// answers. PathHealth is no JSON call: it answers 200 while the node knows a
// leader, to anybody.
const (
	PathHealth   = "/healthz"
	PathCrawl    = "/v1/crawl"
	PathGroup    = "/v1/group"
	PathFormat   = "/v1/group/format"
	PathAdd      = "/v1/group/join"
	PathRemove   = "/v1/group/remove"
	PathTransfer = "/v1/group/transfer"
)

// Group is a coordinator as a member of its group.
type Group interface {
	// Group lists the members, as far as the node knows.
	Group(ctx context.Context) (Members, error)
	// Format is the newest format of commands that the node's program knows.
	Format(ctx context.Context) (Format, error)
	// Add takes a node into the group; once more, with another address, moves it.
	Add(ctx context.Context, m Member) error
	// Remove takes a node out of the group.
	Remove(ctx context.Context, m MemberRef) error
	// Transfer hands leadership to a member; to any if it names none.
	Transfer(ctx context.Context, m MemberRef) error
}

// Crawl is what a coordinator works on.
type Crawl struct {
	Store string `json:"store"` // a folder, or s3://bucket/prefix
}

// Member is a coordinator of a group.
type Member struct {
	ID string `json:"id"`
	// Peer is where the others reach it, host:port.
	Peer   string `json:"peer"`
	Leader bool   `json:"leader,omitempty"`
}

// MemberRef names a member.
type MemberRef struct {
	ID string `json:"id"`
}

// Members is a group.
type Members struct {
	Self    string   `json:"self"` // who answers
	Members []Member `json:"members"`
}

// Format is a version of the commands in the log.
type Format struct {
	Format int `json:"format"`
}

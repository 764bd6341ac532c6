package shape

import (
	"go/ast"
	"testing"
)

// TestFencesHaveNoSwitch: what keeps two owners apart (a takeover's minute, the
// clocks of leases) is given as a constant, or as the machine's own clock, wherever
// the programs are put together. Only the simulation, which must show that each
// fence is missed, and tests put other things in their place.
func TestFencesHaveNoSwitch(t *testing.T) {
	allowed := map[string]string{"Quiet": "QuietTime", "Clock": "SystemClock"}
	seen := map[string]int{}
	for _, s := range sources(t) {
		if s.test || under(s.folder(), "cmd/simtest") || !refersTo(s, "seine/coordinator/leader",
			"coordinator/leader") && !refersTo(s, "seine/jobs/worker", "jobs/worker") {
			continue
		}
		given := func(name string, value ast.Expr) {
			seen[name]++
			if got := lastName(value); got != allowed[name] {
				t.Errorf("%s: %s is %s, want %s", s.fset.Position(value.Pos()), name, got, allowed[name])
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					field, ok := e.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					name := lastName(field.Key)
					if name == "Clock" || name == "Quiet" && lastName(n.Type) == "Group" {
						given(name, field.Value)
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					to, ok := left.(*ast.SelectorExpr)
					if ok && (to.Sel.Name == "Clock" || to.Sel.Name == "Quiet" && lastName(to.X) == "Group") {
						given(to.Sel.Name, n.Rhs[min(i, len(n.Rhs)-1)])
					}
				}
			}
			return true
		})
	}
	if seen["Quiet"] < 2 || seen["Clock"] < 2 {
		t.Errorf("found only %v: who gives leaders and workers these now?", seen)
	}
}

// refersTo says whether a source is of a package or imports it.
func refersTo(s source, path, folder string) bool {
	if s.folder() == folder {
		return true
	}
	for _, p := range s.paths {
		if p == path {
			return true
		}
	}
	return false
}

// lastName is the name at the end of a selector or a call of one.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CallExpr:
		return lastName(e.Fun)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return "an expression"
}

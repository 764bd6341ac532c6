package main

import "context"

// sheet says which sheets decide over the URL, each with what it sets there.
func (e *explanation) sheet(ctx context.Context) error {
	t, err := e.look.Env("").Sheets(ctx, e.settings)
	if err != nil || t == nil {
		return err
	}
	e.sheets = t.For(e.url)
	decisions := t.Decisions(e.url)
	if len(decisions) == 0 {
		e.say("sheet", "none of the %d is for it", t.Count())
	}
	for _, d := range decisions {
		from := ""
		if o, ok := e.settings.Origins["sheets"]; ok {
			from = " (" + originText(o) + ")"
		}
		e.say("sheet", "%s, line %d of %s%s: %s", d.What, d.Line, e.settings.Sheets, from,
			d.Describe())
	}
	return nil
}

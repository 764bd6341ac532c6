package extract

import "golang.org/x/net/html/atom"

// isRaw reports the elements whose content the tokenizer gives as one piece of text.
func isRaw(name atom.Atom) bool {
	switch name {
	case atom.Script, atom.Style, atom.Title, atom.Textarea, atom.Iframe, atom.Noembed,
		atom.Noframes, atom.Noscript, atom.Xmp, atom.Plaintext:
		return true
	}
	return false
}

// isBlock reports the elements that begin and end on a line of their own.
func isBlock(name atom.Atom) bool {
	switch name {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Caption,
		atom.Center, atom.Dd, atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.Frameset, atom.H1,
		atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header, atom.Hgroup, atom.Hr,
		atom.Html, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol,
		atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Section, atom.Select,
		atom.Summary, atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr, atom.Ul, atom.Xmp:
		return true
	}
	return false
}

// isCell reports the elements that are set apart within a line.
func isCell(name atom.Atom) bool {
	switch name {
	case atom.Td, atom.Th, atom.Button, atom.Rt, atom.Textarea, atom.Iframe, atom.Img, atom.Svg,
		atom.Video, atom.Audio, atom.Object, atom.Canvas:
		return true
	}
	return false
}

// foreignContent tracks SVG and MathML, where elements of HTML's names mean something else: an
// icon's <title> is not the page's, its <style> is not raw text. The zero value is outside.
type foreignContent struct {
	depth   int // open svg and math elements
	svg     int // those of them that are svg
	islands int // open foreignObjects: HTML inside SVG
}

// rules reports whether CDATA sections and self-closing tags mean something here.
func (f *foreignContent) rules() bool { return f.depth > 0 && f.islands == 0 }

// muted reports whether text is part of a drawing.
func (f *foreignContent) muted() bool { return f.svg > 0 && f.islands == 0 }

// start handles a start tag and reports whether its content follows foreign rules.
func (f *foreignContent) start(name atom.Atom, selfClosing bool) bool {
	switch {
	case name == atom.Svg, name == atom.Math:
		if !selfClosing {
			f.depth++
			if name == atom.Svg {
				f.svg++
			}
		}
		return true
	case f.depth == 0 || f.islands > 0:
		return false
	case name == atom.Foreignobject:
		if !selfClosing {
			f.islands++
		}
		return true
	case breaksOut(name):
		*f = foreignContent{}
		return false
	}
	return true
}

func (f *foreignContent) end(name atom.Atom) {
	switch {
	case f.depth == 0:
	case name == atom.Svg, name == atom.Math:
		f.depth--
		if name == atom.Svg {
			f.svg = max(f.svg-1, 0)
		}
		if f.depth == 0 {
			*f = foreignContent{}
		}
	case name == atom.Foreignobject:
		f.islands = max(f.islands-1, 0)
	}
}

// breaksOut reports the HTML elements that end foreign content wherever they stand (WHATWG "rules
// for parsing tokens in foreign content"), so that an unclosed <svg> does not swallow the page.
func breaksOut(name atom.Atom) bool {
	switch name {
	case atom.B, atom.Big, atom.Blockquote, atom.Body, atom.Br, atom.Center, atom.Code, atom.Dd,
		atom.Div, atom.Dl, atom.Dt, atom.Em, atom.Embed, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5,
		atom.H6, atom.Head, atom.Hr, atom.I, atom.Img, atom.Li, atom.Listing, atom.Menu, atom.Meta,
		atom.Nobr, atom.Ol, atom.P, atom.Pre, atom.Ruby, atom.S, atom.Small, atom.Span, atom.Strong,
		atom.Strike, atom.Sub, atom.Sup, atom.Table, atom.Tt, atom.U, atom.Ul, atom.Var:
		return true
	}
	return false
}

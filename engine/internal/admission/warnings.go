package admission

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// warn adds a warning unless there is one with the same text, as API servers send each once. It drops upstream's texts
// that Sent would drop for those before them.
func (p *pass) warn(w violation.Warning) (added bool) {
	if p.warned == nil {
		p.warned = make(map[string]struct{}, len(p.out.Warnings)+1)
		for i := range p.out.Warnings {
			p.warned[p.out.Warnings[i].Text] = struct{}{}
		}
	}
	own := w.Type == violation.TypeNotice
	if _, there := p.warned[w.Text]; there || p.sentRunes > maxWarningRunes && !own {
		return false
	}
	p.warned[w.Text] = struct{}{}
	p.out.Warnings = append(p.out.Warnings, w)
	if !own && fitsHeader(w.Text) {
		p.sentRunes += min(utf8.RuneCountInString(w.Text), maxCutRunes)
	}
	return true
}

// note adds a note of crdeval, without its prefix.
func (p *pass) note(text string) {
	p.warn(violation.Warning{Type: violation.TypeNotice, Text: Notice + text})
}

// warnAbout adds a warning about the member of the object at a path.
func (p *pass) warnAbout(of field.ErrorType, text, name string, path tree.Path) {
	w := violation.Warning{Type: of, Text: text, Field: name, Path: path}
	if p.text == tree.Request && p.r.Patch == 0 {
		w.Position = p.d.PositionAt(path)
	}
	p.warn(w)
}

// warnDeprecated adds the warning of a deprecated version.
func (p *pass) warnDeprecated(v *Version) {
	if len(v.Warnings) == 0 {
		return
	}
	p.out.Warnings = slices.Clone(v.Warnings)
	if p.r.Patch != 0 || p.r.Scale || p.text != tree.Request {
		return
	}
	node := p.d.Field(p.root, "apiVersion")
	for i := range p.out.Warnings {
		w := &p.out.Warnings[i]
		if node == 0 { // the request has the version
			w.Position = p.d.PositionOf(p.root, nil)
			continue
		}
		w.Field, w.Path = "apiVersion", tree.Path{tree.Name("apiVersion")}
		w.Position = p.d.PositionOf(node, w.Path)
	}
}

// Upstream's bounds on the texts of Warning headers, in code points.
const (
	maxWarningRunes = 4096 // in total; longer warnings are cut
	maxCutRunes     = 256  // of each warning that is cut
)

// Notice is the prefix of crdeval's own notes. API servers do not send them.
const Notice = "crdeval: "

// Sent returns the warnings that reach a client as headers. API servers drop texts with control characters or invalid
// UTF-8, and cut or drop warnings beyond a total length. list has no duplicates and is not changed.
//
// Upstream: endpoints/filters/warning.go, AddWarning; apimachinery, util/net/http.go, NewWarningHeader.
func Sent(list []violation.Warning) []violation.Warning {
	whole, total := true, 0
	for i := range list {
		if w := &list[i]; w.Type != violation.TypeNotice {
			whole = whole && fitsHeader(w.Text)
			total += utf8.RuneCountInString(w.Text)
		}
	}
	if whole && total <= maxWarningRunes {
		return list
	}
	var notes, upstream []violation.Warning
	for _, w := range list {
		if w.Type == violation.TypeNotice {
			notes = append(notes, w)
		} else {
			upstream = append(upstream, w)
		}
	}
	var sent []violation.Warning
	total = 0
	for i, w := range upstream {
		if !fitsHeader(w.Text) {
			continue
		}
		if total += utf8.RuneCountInString(w.Text); total > maxWarningRunes {
			return append(cut(upstream, i), notes...)
		}
		sent = append(sent, w)
	}
	return append(sent, notes...)
}

// cut returns the warnings up to index first, and further ones up to the total length, each of them cut.
func cut(list []violation.Warning, first int) (sent []violation.Warning) {
	total := 0
	for i, w := range list {
		if i > first && total >= maxWarningRunes {
			break
		}
		if utf8.RuneCountInString(w.Text) > maxCutRunes {
			w.Text = string([]rune(w.Text)[:maxCutRunes]) // invalid bytes become U+FFFD, as upstream does it
		}
		if fitsHeader(w.Text) {
			sent = append(sent, w)
			total += utf8.RuneCountInString(w.Text)
		}
	}
	return sent
}

func fitsHeader(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

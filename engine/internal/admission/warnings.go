package admission

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
)

func unknownField(path string) string { return `unknown field "` + path + `"` }

// reportStrict rejects the errors of strict decoding, or adds them as warnings.
func (p *pass) reportStrict() (rejected bool) {
	if len(p.out.Strict) == 0 {
		return false
	}
	if p.r.FieldValidation == Strict {
		cause := strictError(p.out.Strict)
		if p.r.Patched {
			p.out.Rejection = p.rejectPatched(cause.Error())
			return true
		}
		if p.of.Version == "" {
			// Upstream reads the kind from the decoded object, which has no version.
			text := runtime.NewMissingVersionErr("object has no apiVersion field").Error()
			p.out.Rejection = badRequest(text, cause.Error())
			return true
		}
		p.out.Rejection = undecodable(p.of.Kind, &p.of, cause, p.r.Body)
		return true
	}
	p.warnStrict()
	return false
}

// warnStrict adds the errors of strict decoding as warnings.
func (p *pass) warnStrict() {
	for _, text := range p.out.Strict {
		p.warn(StrictWarnings(text)...)
	}
}

// strictError returns upstream's strict decoding error with these texts.
func strictError(texts []string) error {
	errs := make([]error, len(texts))
	for i, text := range texts {
		errs[i] = errors.New(text)
	}
	return runtime.NewStrictDecodingError(errs)
}

// StrictWarnings returns the warnings for one strict error. The YAML decoder reports several errors in one text.
//
// Upstream: endpoints/handlers/rest.go, parseYAMLWarnings.
func StrictWarnings(text string) []string {
	rest, ok := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
	if !ok {
		if rest, ok = strings.CutPrefix(text, "error converting YAML to JSON: yaml: unmarshal errors:\n"); !ok {
			return []string{text}
		}
	}
	lines := strings.Split(rest, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// warn adds texts without duplicates, as API servers send each once.
func (p *pass) warn(texts ...string) {
	if len(texts) == 0 {
		return
	}
	if p.warned == nil {
		p.warned = make(map[string]struct{}, len(p.out.Warnings)+len(texts))
		for _, text := range p.out.Warnings {
			p.warned[text] = struct{}{}
		}
	}
	for _, text := range texts {
		if _, there := p.warned[text]; !there {
			p.warned[text] = struct{}{}
			p.out.Warnings = append(p.out.Warnings, text)
		}
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
// UTF-8, and cut or drop warnings beyond a total length. texts has no duplicates and is not changed.
//
// Upstream: endpoints/filters/warning.go, AddWarning; apimachinery, util/net/http.go, NewWarningHeader.
func Sent(texts []string) []string {
	whole, total := true, 0
	for _, text := range texts {
		if !strings.HasPrefix(text, Notice) {
			whole = whole && fitsHeader(text)
			total += utf8.RuneCountInString(text)
		}
	}
	if whole && total <= maxWarningRunes {
		return texts
	}
	var notes, upstream []string
	for _, text := range texts {
		if strings.HasPrefix(text, Notice) {
			notes = append(notes, text)
		} else {
			upstream = append(upstream, text)
		}
	}
	var sent []string
	total = 0
	for i, text := range upstream {
		if !fitsHeader(text) {
			continue
		}
		if total += utf8.RuneCountInString(text); total > maxWarningRunes {
			return append(cut(upstream, i), notes...)
		}
		sent = append(sent, text)
	}
	return append(sent, notes...)
}

// cut returns the warnings up to index first, and further ones up to the total length, each of them cut.
func cut(texts []string, first int) (sent []string) {
	total := 0
	for i, text := range texts {
		if i > first && total >= maxWarningRunes {
			break
		}
		if utf8.RuneCountInString(text) > maxCutRunes {
			text = string([]rune(text)[:maxCutRunes]) // invalid bytes become U+FFFD, as upstream does it
		}
		if fitsHeader(text) {
			sent = append(sent, text)
			total += utf8.RuneCountInString(text)
		}
	}
	return sent
}

func fitsHeader(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

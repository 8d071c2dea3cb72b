package admission

import (
	"errors"
	"strings"

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

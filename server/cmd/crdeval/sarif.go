package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// Parts of a SARIF 2.1.0 log. The comments of the specification apply.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string        `json:"id"`
		ShortDescription sarifMessage  `json:"shortDescription"`
		Help             sarifMessage  `json:"help"`
		Configuration    sarifSeverity `json:"defaultConfiguration"`
	}
	sarifSeverity struct {
		Level level `json:"level"`
	}
	sarifMessage struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     level           `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        level             `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]string `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

const (
	sarifSchema     = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	fingerprintName = "crdevalProblem/v1"
)

// sarifPrinter prints a SARIF log at the end of the run.
type sarifPrinter struct {
	w       io.Writer
	root    string
	results []sarifResult
	skipped []sarifNotification
	seen    map[string]int // results by their fingerprint
}

func (p *sarifPrinter) crd(j *crdReport) error {
	p.add(j.problems(), problem{location: j.location, line: j.source.Line()}, j.Skipped)
	return nil
}

func (p *sarifPrinter) object(o *outcome) error {
	p.add(o.problems(), problem{location: o.location, line: o.Line}, o.Skipped)
	return nil
}

func (p *sarifPrinter) add(list []problem, at problem, skipped string) {
	if skipped != "" {
		p.skip(at, skipped)
		return
	}
	for i := range list {
		p.results = append(p.results, p.result(&list[i]))
	}
}

func (p *sarifPrinter) skip(at problem, reason string) {
	p.skipped = append(p.skipped, sarifNotification{levelNote, text("skipped: " + reason), p.locations(&at)})
}

func (p *sarifPrinter) result(of *problem) sarifResult {
	index := indexOfKind(of.kind)
	r := sarifResult{
		RuleID: problemKinds[index].id, RuleIndex: index, Level: of.level,
		Message: text(of.document + ": " + of.message()), Locations: p.locations(of), Properties: map[string]string{},
	}
	for name, value := range map[string]string{
		"pointer": of.pointer, "schemaPointer": of.schemaPointer, "rule": of.rule, "hint": of.hint,
	} {
		if value != "" {
			r.Properties[name] = validText(value)
		}
	}
	// Lines and values are not included, so that changes of other parts of the file do not change the fingerprint.
	hash := sha256.New()
	for _, part := range []string{inRepository(p.root, of.File), of.document, r.RuleID, of.pointer, of.schemaPointer} {
		fmt.Fprintf(hash, "%d %s\n", len(part), part)
	}
	fingerprint := hex.EncodeToString(hash.Sum(nil)[:16])
	p.seen[fingerprint]++
	r.Fingerprints = map[string]string{fingerprintName: fmt.Sprintf("%s:%d", fingerprint, p.seen[fingerprint])}
	return r
}

func (p *sarifPrinter) locations(of *problem) []sarifLocation {
	file := inRepository(p.root, of.File)
	artifact := sarifArtifact{(&url.URL{Path: file}).String(), "%SRCROOT%"}
	if isURL(file) {
		artifact = sarifArtifact{file, ""}
	} else if path.IsAbs(file) {
		artifact = sarifArtifact{(&url.URL{Scheme: "file", Path: file}).String(), ""}
	}
	at := sarifPhysical{Artifact: artifact}
	if of.line > 0 {
		at.Region = &sarifRegion{of.line, of.column}
	}
	return []sarifLocation{{at}}
}

// close prints the log.
func (p *sarifPrinter) close(t *tally) error {
	for _, s := range t.files {
		p.skip(problem{location: location{File: s.name}}, s.reason)
	}
	driver := sarifDriver{Name: "crdeval", Version: version, InformationURI: "https://github.com/crdeval/crdeval"}
	for _, k := range problemKinds {
		severity := levelError
		if k.id == apiWarning || k.id == namesConflict {
			severity = levelWarning
		}
		help := sarifMessage{strings.ReplaceAll(k.help, "`", ""), k.help}
		driver.Rules = append(driver.Rules, sarifRule{k.id, text(k.summary), help, sarifSeverity{severity}})
	}
	run := sarifRun{
		Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: append([]sarifResult{}, p.results...),
		Invocations: []sarifInvocation{{ExecutionSuccessful: t.errors() == 0, Notifications: p.skipped}},
	}
	encoder := json.NewEncoder(p.w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

func text(s string) sarifMessage { return sarifMessage{Text: validText(s)} }

// validText replaces control characters and invalid UTF-8.
func validText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return string(printable([]byte(s)))
}

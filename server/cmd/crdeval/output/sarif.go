package output

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
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
		Level Level `json:"level"`
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
		Level     Level           `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        Level             `json:"level"`
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

// SARIFSchema is the URL of the schema of logs.
const SARIFSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// fingerprintName is the name of the partial fingerprint.
const fingerprintName = "crdevalProblem/v1"

// sarifPrinter prints a SARIF log at the end of the run.
type sarifPrinter struct {
	w             io.Writer
	of            Program
	results       []sarifResult
	notifications []sarifNotification
	seen          map[string]int // results by their fingerprint
}

// Add implements Printer.
func (p *sarifPrinter) Add(r *Result) error {
	if r.Skipped != "" {
		p.skip(&Problem{File: r.File, Line: r.Line}, r.Skipped)
		return nil
	}
	for i := range r.Problems {
		p.results = append(p.results, p.result(&r.Problems[i]))
	}
	return nil
}

func (p *sarifPrinter) skip(at *Problem, reason string) {
	p.notifications = append(p.notifications, sarifNotification{LevelNote, text("skipped: " + reason), p.locations(at)})
}

func (p *sarifPrinter) result(of *Problem) sarifResult {
	index := indexOfKind(of.Kind)
	r := sarifResult{
		RuleID: kinds[index].id, RuleIndex: index, Level: of.Level,
		Message: text(of.Document + ": " + of.message()), Locations: p.locations(of), Properties: map[string]string{},
	}
	for name, value := range map[string]string{
		"pointer": of.Pointer, "schemaPointer": of.SchemaPointer, "rule": of.Rule, "hint": of.Hint,
	} {
		if value != "" {
			r.Properties[name] = validText(value)
		}
	}
	// Lines and values are not included, so that changes of other parts of the file do not change the fingerprint.
	hash := sha256.New()
	for _, part := range []string{repository.Relative(p.of.Root, of.File), of.Document, r.RuleID, of.Pointer,
		of.SchemaPointer} {
		fmt.Fprintf(hash, "%d %s\n", len(part), part)
	}
	fingerprint := hex.EncodeToString(hash.Sum(nil)[:16])
	p.seen[fingerprint]++
	r.Fingerprints = map[string]string{fingerprintName: fmt.Sprintf("%s:%d", fingerprint, p.seen[fingerprint])}
	return r
}

func (p *sarifPrinter) locations(of *Problem) []sarifLocation {
	file := repository.Relative(p.of.Root, of.File)
	artifact := sarifArtifact{(&url.URL{Path: file}).String(), "%SRCROOT%"}
	if context, found := strings.CutPrefix(file, repository.Cluster); found {
		artifact = sarifArtifact{repository.Cluster + url.PathEscape(context), ""}
	} else if repository.IsURL(file) {
		artifact = sarifArtifact{file, ""}
	} else if path.IsAbs(file) {
		artifact = sarifArtifact{(&url.URL{Scheme: "file", Path: file}).String(), ""}
	}
	at := sarifPhysical{Artifact: artifact}
	if of.Line > 0 {
		at.Region = &sarifRegion{of.Line, of.Column}
	}
	return []sarifLocation{{at}}
}

// Close prints the log.
func (p *sarifPrinter) Close(of *Run) error {
	for _, s := range of.Skipped {
		p.skip(&Problem{File: s.Name}, s.Skip.Reason)
	}
	if of.Failure != nil {
		p.notifications = append(p.notifications, sarifNotification{Level: LevelError, Message: text(of.Failure.Error())})
	}
	driver := sarifDriver{Name: "crdeval", Version: p.of.Version, InformationURI: "https://github.com/crdeval/crdeval"}
	for _, k := range kinds {
		severity := LevelError
		if slices.Contains([]string{Warning, Deprecated, Ratcheted, Notice, NamesNotAccepted}, k.id) {
			severity = LevelWarning
		}
		help := sarifMessage{strings.ReplaceAll(k.help, "`", ""), k.help}
		driver.Rules = append(driver.Rules, sarifRule{k.id, text(k.summary), help, sarifSeverity{severity}})
	}
	successful := of.Errors == 0 && of.Failure == nil
	run := sarifRun{
		Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: append([]sarifResult{}, p.results...),
		Invocations: []sarifInvocation{{ExecutionSuccessful: successful, Notifications: p.notifications}},
	}
	encoder := json.NewEncoder(p.w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{SARIFSchema, "2.1.0", []sarifRun{run}})
}

func text(s string) sarifMessage { return sarifMessage{Text: validText(s)} }

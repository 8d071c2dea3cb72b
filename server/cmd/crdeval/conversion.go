package main

import "fmt"

// conversionLines returns lines of text about the violations of conversion rules and the laws that they break.
func (j *crdReport) conversionLines() (lines []string) {
	for _, v := range j.Conversion.message.GetViolations() {
		lines = append(lines, positionText(j.File, v.GetPosition())+": "+violationText(v))
	}
	for _, text := range j.brokenLaws() {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", j.File, j.source.Line(), text))
	}
	return lines
}

// brokenLaws describes the laws that conversion rules break.
func (j *crdReport) brokenLaws() (texts []string) {
	for _, law := range j.Conversion.message.GetLaws() {
		if e := law.GetCounterexample(); e != nil && !law.GetExcepted() {
			texts = append(texts, fmt.Sprintf("the law %q does not hold from %s to %s. %s Object: %s",
				law.GetLaw(), law.GetFromVersion(), law.GetToVersion(), e.GetText(), e.GetObject().GetJson()))
		}
	}
	return texts
}

// Command promql parses the expressions of rule files (YAML) and Grafana dashboards (JSON) as Prometheus does. It prints a
// JSON list of the expressions with the metrics and labels that they use.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// expression is an expression with the places where it was found.
type expression struct {
	Name      string
	Text      string
	Selectors []selector
	Grouping  []string // labels in by and without
}

type selector struct {
	Metric string
	Labels []string
}

var promql = parser.NewParser(parser.Options{})

func main() {
	var all []expression
	for _, file := range os.Args[1:] {
		read, err := expressions(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
		all = append(all, read...)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expressions(file string) (all []expression, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	texts, err := readDashboard(content)
	if !strings.HasSuffix(file, ".json") {
		texts, err = readRules(content)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range texts {
		if err := e.parse(); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		all = append(all, e)
	}
	return all, nil
}

func readRules(content []byte) (all []expression, err error) {
	groups, errs := rulefmt.Parse(content, false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			all = append(all, expression{Name: rule.Alert, Text: rule.Expr})
		}
	}
	return all, nil
}

type panel struct {
	Title   string
	Targets []struct{ Expr string }
	Panels  []panel
}

func readDashboard(content []byte) (all []expression, err error) {
	var dashboard panel
	err = json.Unmarshal(content, &dashboard)
	var add func(panel)
	add = func(p panel) {
		for _, target := range p.Targets {
			all = append(all, expression{Name: p.Title, Text: target.Expr})
		}
		for _, inner := range p.Panels {
			add(inner)
		}
	}
	add(dashboard)
	return all, err
}

// parse parses the text. Grafana replaces $__rate_interval before Prometheus sees it.
func (e *expression) parse() error {
	parsed, err := promql.ParseExpr(strings.ReplaceAll(e.Text, "$__rate_interval", "5m"))
	if err != nil {
		return err
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			s := selector{Metric: n.Name}
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					s.Labels = append(s.Labels, m.Name)
				}
			}
			e.Selectors = append(e.Selectors, s)
		case *parser.AggregateExpr:
			e.Grouping = append(e.Grouping, n.Grouping...)
		}
		return nil
	})
	return nil
}

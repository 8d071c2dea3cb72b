package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

// The parts of the REST response that the tour prints.
type (
	response struct {
		Results []result `json:"results"`
	}
	result struct {
		Verdict *verdict `json:"verdict"`
		Error   *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	verdict struct {
		Allowed   bool `json:"allowed"`
		Rejection struct {
			Message string `json:"message"`
		} `json:"rejection"`
		Warnings   []string    `json:"warnings"`
		Violations []violation `json:"violations"`
		Ratcheted  []violation `json:"ratcheted"`
		Changes    struct {
			Defaulted []struct {
				Path  string          `json:"path"`
				Value json.RawMessage `json:"value"`
			} `json:"defaulted"`
		} `json:"changes"`
	}
	violation struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	}
)

// judge sends all files of the directory in one batch through the REST gateway and prints the verdicts. item converts
// the JSON of a file to an item.
func judge(ctx context.Context, url, dir, what string, item func(json.RawMessage) any) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no %s in %s", what, dir)
	}
	body, err := batch(files, item)
	if err != nil {
		return err
	}
	began := time.Now()
	answer, err := post(ctx, url+"/v1/catalogs/default:validate", body)
	if err != nil {
		return err
	}
	var r response
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	if len(r.Results) != len(files) {
		return fmt.Errorf("%d results for %d %s", len(r.Results), len(files), what)
	}
	fmt.Printf("%d %s judged over REST in %.1f ms:\n", len(files), what, time.Since(began).Seconds()*1000)
	for i, one := range r.Results {
		printResult(filepath.Base(files[i]), one)
	}
	fmt.Println()
	return nil
}

// creation returns the item for the creation of an object.
func creation(object json.RawMessage) any {
	return map[string]json.RawMessage{"object": object}
}

// asWritten returns the file as an item. The file has the fields of the API: oldObject, object, subresource.
func asWritten(item json.RawMessage) any { return item }

// batch returns the body of the request, with the objects inline and unchanged.
func batch(files []string, item func(json.RawMessage) any) ([]byte, error) {
	items := make([]any, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		content, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		items[i] = item(content)
	}
	return json.Marshal(map[string]any{"items": items})
}

func post(ctx context.Context, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", url, resp.Status, answer)
	}
	return answer, nil
}

func printResult(name string, r result) {
	switch {
	case r.Error != nil:
		fmt.Printf("  %-26s NOT EVALUATED  %s\n", name, r.Error.Message)
		return
	case r.Verdict == nil:
		fmt.Printf("  %-26s NO RESULT\n", name)
		return
	case r.Verdict.Allowed:
		fmt.Printf("  %-26s allowed\n", name)
	default:
		fmt.Printf("  %-26s rejected\n", name)
		if len(r.Verdict.Violations) == 0 { // for example a document that is not JSON
			fmt.Printf("    %s\n", r.Verdict.Rejection.Message)
		}
	}
	for _, v := range r.Verdict.Violations {
		fmt.Printf("    %s: %s\n", v.Field, v.Message)
	}
	for _, f := range r.Verdict.Ratcheted {
		fmt.Printf("    ratcheted, since it did not change: %s: %s\n", f.Field, f.Message)
	}
	for _, d := range r.Verdict.Changes.Defaulted {
		fmt.Printf("    defaulted: %s = %s\n", d.Path, d.Value)
	}
	for _, w := range r.Verdict.Warnings {
		fmt.Printf("    warning: %s\n", w)
	}
}

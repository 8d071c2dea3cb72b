package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestHangingConversions checks that a webhook that hangs takes no capacity from other CRDs, also of the same host, and
// that items end with their deadlines.
func TestHangingConversions(t *testing.T) {
	const inFlight, hanging = 32, 6 // three quarters of a quarter
	entered, release := make(chan struct{}, inFlight), make(chan struct{})
	h := startHook(t)
	answer := h.Config.Handler
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			entered <- struct{}{}
			<-release
		}
		answer.ServeHTTP(w, r)
	})
	r := start(t, "--conversion-webhooks=127.0.0.1", fmt.Sprintf("--max-in-flight=%d", inFlight))
	rest := r.HTTPAddresses()[0]
	before, after, _ := strings.Cut(h.crd("plains", "Plain"), "  conversion:")
	_, after, _ = strings.Cut(after, "  versions:")
	plain := before + "  versions:" + after
	for _, crd := range []string{h.crd("hangs", "Hang"), h.crd("others", "Other"), plain} {
		if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crd); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
	}
	admit := func(kind string) string {
		item := `{"create":{"object":` + strings.Replace(newTab, "CronTab", kind, 1) + `}}`
		_, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default:admit", "application/json", `{"items":[`+item+`]}`)
		return strings.ReplaceAll(body, " ", "")
	}
	var all, rejected sync.WaitGroup
	for range hanging {
		all.Go(func() {
			if body := admit("Hang"); !strings.Contains(body, `"allowed":true`) {
				t.Error(body)
			}
		})
	}
	for range hanging {
		<-entered
	}
	for range 5 {
		for range hanging {
			rejected.Go(func() {
				if body := admit("Hang"); !strings.Contains(body, "6callsofthiswebhookof127.0.0.1:") {
					t.Error(body)
				}
			})
		}
		rejected.Wait()
		for _, kind := range []string{"Plain", "Other"} {
			if body := admit(kind); !strings.Contains(body, `"allowed":true`) {
				t.Errorf("%s: %s", kind, body)
			}
		}
	}
	close(release)
	all.Wait()
}

// TestConversionDeadline checks that an item whose webhook hangs ends with its deadline, and others do not fail.
func TestConversionDeadline(t *testing.T) {
	release := make(chan struct{})
	h := startHook(t)
	answer := h.Config.Handler
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			<-release
		}
		answer.ServeHTTP(w, r)
	})
	defer close(release)
	rest := start(t, "--conversion-webhooks=127.0.0.1").HTTPAddresses()[0]
	for _, crd := range []string{h.crd("hangs", "Hang"), h.crd("others", "Other")} {
		if code, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default/crds", "application/yaml", crd); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
	}
	hang := `{"create":{"object":` + strings.Replace(newTab, "CronTab", "Hang", 1) + `}}`
	other := `{"create":{"object":` + strings.Replace(ownTab, "CronTab", "Other", 1) + `}}`
	_, body := fetch(t, rest, http.MethodPost, "/v1/catalogs/default:admit", "application/json", `{"context":{"options":{"itemTimeout":"2s"}},"items":[`+times(10, hang+","+other)+`]}`)
	body = strings.ReplaceAll(body, " ", "")
	if n := strings.Count(body, `"reason":"ITEM_DEADLINE"`); n != 10 || strings.Count(body, `"allowed":true`) != 10 {
		t.Errorf("%d deadlines: %.900s", n, body)
	}
}

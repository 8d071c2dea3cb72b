package registry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestTokens(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mine := r.tag.token(1)
	for _, tc := range []struct {
		name, token string
		want        Reason
	}{
		{"none", "", ""},
		{"now", r.tag.token(0), ""},
		{"garbage", "!!!", TokenInvalid},
		{"too short", mine[:8], TokenInvalid},
		{"something behind it", mine + "AA", TokenInvalid},
		{"another store's", tagOf("other").token(0), TokenInvalid},
	} {
		_, err := r.View(t.Context(), "default", tc.token)
		t.Run(tc.name, func(t *testing.T) { wantReason(t, err, tc.want) })
	}
	for _, sequence := range []uint64{0, 1, 127, 128, 1 << 40, 1<<64 - 1} {
		if got, err := r.tag.parse(r.tag.token(sequence)); got != sequence || err != nil {
			t.Errorf("%d came back as %d, %v", sequence, got, err)
		}
	}
}

func TestWaitingForAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, newTestStore(), nil)
		next := r.tag.token(1)
		start := time.Now()
		_, err := r.View(t.Context(), "default", next)
		wantReason(t, err, ReplicaBehind)
		if waited := time.Since(start); waited != r.MaxWait {
			t.Errorf("without a deadline it waited %v, want %v", waited, r.MaxWait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		_, err = r.View(ctx, "default", next)
		wantReason(t, err, ReplicaBehind)
		if waited := time.Since(start); waited != time.Second-answerMargin {
			t.Errorf("with a deadline of 1s it waited %v", waited)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := r.CRD(t.Context(), "default", "foos.g.io", "", next); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		mustRegister(t, r, "default", testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
		wg.Wait()
		cancelled, stop := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := r.View(cancelled, "default", r.tag.token(2)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		stop()
		wg.Wait()
	})
}

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const benchObject = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"my-new-cron-object","namespace":"default"},` +
	`"spec":{"cronSpec":"* * * * */5","image":"my-awesome-cron-image","replicas":3,"weight":1.5}}`

// BenchmarkBatch is a batch of 100 objects through all layers, in memory: ns/object is what one object costs.
func BenchmarkBatch(b *testing.B) {
	w := start(b, nil).withCronTab()
	r := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
	for range 100 {
		r.Items = append(r.Items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(benchObject)}}})
	}
	body := fmt.Sprintf(`{"items":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"create":{"object":`+benchObject+`}},`, 100), ","))
	b.Run("grpc", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := w.evaluation.Validate(context.Background(), r); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/object")
	})
	b.Run("rest", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if a := w.do("POST", "/v1/catalogs/default:validate", body); a.code != http.StatusOK {
					b.Error(a.text)
				}
			}
		})
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/object")
	})
}

// BenchmarkLargeBatch is BenchmarkBatch with objects of 11 kB.
func BenchmarkLargeBatch(b *testing.B) {
	w := start(b, nil).withCronTab()
	var large strings.Builder
	large.WriteString(`{"extra":{"list":[`)
	for i := range 140 {
		fmt.Fprintf(&large, `{"name":"backend-%d","port":%d,"weight":1,"kind":"Service","group":"","filters":[]},`, i, 8000+i)
	}
	large.WriteString(`{}]}}`)
	object := cronTab(large.String())
	r := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
	for range 100 {
		r.Items = append(r.Items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(object)}}})
	}
	body := fmt.Sprintf(`{"items":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"create":{"object":`+object+`}},`, 100), ","))
	for name, call := range map[string]func(){
		"grpc": func() {
			if _, err := w.evaluation.Validate(context.Background(), r); err != nil {
				b.Error(err)
			}
		},
		"rest": func() {
			if a := w.do("POST", "/v1/catalogs/default:validate", body); a.code != http.StatusOK {
				b.Error(a.text)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					call()
				}
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/object")
		})
	}
}

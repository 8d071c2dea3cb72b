package bench

import "testing"

// BenchmarkReject is our side of reject cases alone, for profiles.
func BenchmarkReject(b *testing.B) {
	for i := range objects {
		b.Run(objects[i].name, func(b *testing.B) {
			obj, err := load("../testdata/bench", i)
			if err != nil {
				b.Skip(err)
			}
			us, err := newOurs(obj)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := us.refused(obj.faulty); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

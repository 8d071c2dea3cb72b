package closure

import "testing"

func TestQuantityExtent(t *testing.T) {
	for text, want := range map[string][2]int64{
		"": {}, "0": {1, 0}, "12": {2, 0}, "-1.25": {4, 0}, "+.5m": {2, 0}, "12Mi": {2, 0}, "1E": {1, 0}, "1Ei": {1, 0}, "1e": {1, 0}, "1e5": {1, 5}, "1E-5": {1, 5}, "0.1e+99999999": {3, 99999999},
		"1e4294967297": {1, 1}, "1e2147483648": {1, 1 << 31}, "1e-2147483648": {1, 1 << 31}, "1e99999999999999999999": {1, 0}, "1e+-5": {}, "--1": {}, "1x": {}, "1e5x": {}, "1.5.5": {}, "1eE5": {1, 0}, "a text": {},
	} {
		if digits, exponent := QuantityExtent(text); digits != want[0] || exponent != want[1] {
			t.Errorf("%q: %d digits, exponent %d, want %v", text, digits, exponent, want)
		}
	}
}

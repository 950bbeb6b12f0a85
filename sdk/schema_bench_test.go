package sdk

import (
	"reflect"
	"testing"
)

// BenchmarkInferSchema is what a tool adds to the start of its plugin. Its allocations are bounded by
// TestInferringIsCheap.
func BenchmarkInferSchema(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := inferSchema("tool", reflect.TypeFor[sample](), ofInput); err != nil {
			b.Fatal(err)
		}
	}
}

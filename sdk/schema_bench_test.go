package sdk

import (
	"reflect"
	"testing"
)

// BenchmarkInferSchema is what a tool adds to the start of its plugin. It makes fewer allocations than
// TestInferringIsCheap allows.
func BenchmarkInferSchema(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := inferSchema("tool", reflect.TypeFor[sample](), ofInput); err != nil {
			b.Fatal(err)
		}
	}
}

// A plugin of twenty tools infers its schemas in about a millisecond, before its host can connect.
func TestInferringIsCheap(t *testing.T) {
	const fields = 18 // of sample, some of them structs
	each := testing.AllocsPerRun(100, func() {
		_, _ = inferSchema("tool", reflect.TypeFor[sample](), ofInput)
	})
	if each > 25*fields {
		t.Errorf("%v allocations for %d fields", each, fields)
	}
}

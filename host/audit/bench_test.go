package audit

import (
	"encoding/json"
	"testing"
)

func BenchmarkAppend(b *testing.B) {
	for name, r := range map[string]Record{"plain": call(1), "arguments": withArguments(false),
		"sync": withArguments(true)} {
		b.Run(name, func(b *testing.B) {
			l := openLog(b, logPath(b), Options{Content: true, Secrets: []string{"hunter22"}})
			for b.Loop() {
				if err := l.Append(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func withArguments(sync bool) Record {
	r := call(1)
	r.Kind, r.Sync, r.Effect, r.Rule, r.Reason = KindDecision, sync, "allow", "everyday",
		"it is on the list of everyday commands"
	r.Arguments = json.RawMessage(`{"command":"go test ./...","timeout":"30s","env":{"LANG":"C"}}`)
	return r
}

func BenchmarkVerify(b *testing.B) {
	path := written(b, 10000)
	for b.Loop() {
		if _, err := Verify(path); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/record")
}

package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ids(all []Record) (out string) {
	for _, r := range all {
		out = strings.TrimSpace(out + " " + r.CallID)
	}
	return out
}

func TestTail(t *testing.T) {
	path := written(t, 5)
	for n, want := range map[int]string{1: "c5", 3: "c3 c4 c5", 5: "c1 c2 c3 c4 c5", 100: "c1 c2 c3 c4 c5"} {
		got, err := Tail(path, n)
		if err != nil || ids(got) != want {
			t.Errorf("Tail(%d) = %q, %v, want %q", n, ids(got), err, want)
		}
	}
	if _, err := Tail(path, 0); err == nil {
		t.Error("no records could be asked for")
	}
	if got, err := Tail(written(t, 0), 5); err != nil || len(got) != 0 {
		t.Errorf("an empty log has %v, %v", got, err)
	}
	write(t, path, read(t, path)+"hello\n{\"seq\":6")
	if got, err := Tail(path, 3); err != nil || ids(got) != "c4 c5" {
		t.Errorf("after a crash: %q, %v", ids(got), err)
	}
}

func TestTailOfALongLog(t *testing.T) {
	path := logPath(t)
	l := openLog(t, path, Options{})
	for i := range 500 {
		r := call(i + 1)
		r.Reason = strings.Repeat("x", i)
		add(t, l, r)
	}
	for _, n := range []int{1, 7, 100, 499} {
		got, err := Tail(path, n)
		if err != nil || len(got) != n || got[0].CallID != fmt.Sprint("c", 501-n) {
			t.Errorf("Tail(%d) has %d records, %v", n, len(got), err)
		}
	}
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	path := logPath(t)
	want := call(1)
	want.Approval, want.Code, want.Effect = &Approval{By: "ann", Answer: "approved"}, "E_TOOL", "allow"
	add(t, openLog(t, path, Options{}), want)
	want.Seq, want.Prev = 1, noHash
	got := records(t, path)[0]
	got.Hash = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadSkipsInvalidRecords(t *testing.T) {
	path := written(t, 2)
	write(t, path, "hello\n"+read(t, path)+strings.Repeat("x", 2*maxLine)+"\n{")
	if got := ids(records(t, path)); got != "c1 c2" {
		t.Errorf("records %q", got)
	}
	for range Read(path) {
		break // a reader may leave
	}
	for _, err := range Read(path + "?") {
		if err == nil {
			t.Error("a log that is not there was read")
		}
	}
}

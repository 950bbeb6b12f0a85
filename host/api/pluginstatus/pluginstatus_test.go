package pluginstatus

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// fill gives each field of a value another value than all others, and none the zero one.
func fill(t *testing.T, v reflect.Value, next *int) {
	t.Helper()
	*next++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
	case reflect.Int:
		v.SetInt(int64(*next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), next)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*next), 5)))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i), next)
		}
	default:
		t.Fatalf("a field of the kind %s is new: fill it here", v.Kind())
	}
}

// Each field of a status arrives at the other end of the API.
func TestEachFieldArrives(t *testing.T) {
	var empty, full supervise.Status
	next := 0
	fill(t, reflect.ValueOf(&full).Elem(), &next)
	for name, want := range map[string]supervise.Status{"empty": empty, "full": full} {
		wire, err := proto.Marshal(Message(want, func(text string) string { return text }))
		if err != nil {
			t.Fatal(err)
		}
		var m apiv1.Plugin
		if err := proto.Unmarshal(wire, &m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, Status(&m)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// What a plugin has printed is shown without secrets, and other bytes than text do not stop the message.
func TestTextsOfPlugins(t *testing.T) {
	redact := func(string) string { return "redacted \xff" }
	const want = "redacted \uFFFD"
	m := Message(supervise.Status{LastError: "e", Stderr: []string{"a", "b"}, Notices: sdk.Remarks("n"),
		Source: "s\xff"}, redact)
	got := append([]string{m.LastError}, append(m.Stderr, m.Notices...)...)
	if diff := cmp.Diff([]string{want, want, want, want}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := proto.Marshal(m); err != nil {
		t.Error(err)
	}
}

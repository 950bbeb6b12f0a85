package pluginv1

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

var update = flag.Bool("update", false, "add what is new to testdata/v1.txt")

const (
	top    = "../../../"
	folder = top + "sdk/proto"
)

// compiled is plugin.proto as it stands.
func compiled(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		ImportPaths: []string{folder}})}
	files, err := compiler.Compile(t.Context(), "plugin.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

func TestGeneratedCodeIsUpToDate(t *testing.T) {
	want, got := protodesc.ToFileDescriptorProto(compiled(t)),
		protodesc.ToFileDescriptorProto(File_toolhost_plugin_v1_plugin_proto)
	want.Name, want.SourceCodeInfo, got.SourceCodeInfo = got.Name, nil, nil
	if !proto.Equal(want, got) {
		t.Error("plugin.pb.go is not what plugin.proto says: run make gen")
	}
	if !strings.Contains(read(t, top+"sdk/node/proto.js"), "`"+read(t, folder+"/plugin.proto")+"`") {
		t.Error("sdk/node has another plugin.proto: run make gen")
	}
	var inPython descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal([]byte(read(t, top+"sdk/python/toolhost/plugin.desc")), &inPython); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(want, &inPython) {
		t.Error("sdk/python has another plugin.desc: run make gen")
	}
}

// TestGeneratorsArePinned reads the pins where they are kept, in gen/main.go.
func TestGeneratorsArePinned(t *testing.T) {
	pins := regexp.MustCompile(`cmd/(protoc-gen-[a-z-]+)@(v[0-9.]+)"`).FindAllStringSubmatch(read(t, "gen/main.go"), -1)
	headers := read(t, "plugin.pb.go") + read(t, "plugin_grpc.pb.go")
	for _, pin := range pins {
		if header := regexp.MustCompile(pin[1] + ` +` + regexp.QuoteMeta(pin[2]) + `\n`); !header.MatchString(headers) {
			t.Errorf("no file here was made by %s %s: run make gen", pin[1], pin[2])
		}
		if pin[1] == "protoc-gen-go" &&
			!strings.Contains(read(t, top+"go.mod"), "google.golang.org/protobuf "+pin[2]+"\n") {
			t.Errorf("protoc-gen-go %s is not the version of google.golang.org/protobuf in go.mod", pin[2])
		}
	}
	if len(pins) != 2 {
		t.Errorf("gen/main.go pins %d generators, want 2", len(pins))
	}
}

// TestNothingShippedChanges holds the wire to additive change: plugins out there were built with what the list says.
func TestNothingShippedChanges(t *testing.T) {
	const golden = "testdata/v1.txt"
	shipped, now := strings.Split(strings.TrimSpace(read(t, golden)), "\n"), lines(compiled(t))
	for _, line := range shipped {
		if !slices.Contains(now, line) {
			t.Errorf("shipped, and now gone or changed: %s", line)
		}
	}
	added := slices.DeleteFunc(slices.Clone(now), func(line string) bool { return slices.Contains(shipped, line) })
	switch {
	case len(added) == 0:
	case !*update:
		t.Errorf("not in %s yet; run go test with -update:\n%s", golden, strings.Join(added, "\n"))
	default:
		all := slices.Sorted(slices.Values(append(shipped, added...)))
		if err := os.WriteFile(golden, []byte(strings.TrimSpace(strings.Join(all, "\n"))+"\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// lines lists all that two ends of the wire must agree on, one thing a line, sorted.
func lines(file protoreflect.FileDescriptor) []string {
	out := []string{fmt.Sprintf("file %s syntax %v", file.Package(), file.Syntax())}
	for m := range each(file.Messages()) {
		out = append(out, "message "+string(m.Name()))
		for f := range each(m.Fields()) {
			out = append(out, fieldLine(m, f))
		}
	}
	for s := range each(file.Services()) {
		for m := range each(s.Methods()) {
			out = append(out, fmt.Sprintf("rpc %s.%s(%s) returns (%s)", s.Name(), m.Name(),
				streamed(m.Input(), m.IsStreamingClient()), streamed(m.Output(), m.IsStreamingServer())))
		}
	}
	slices.Sort(out)
	return out
}

func fieldLine(m protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	if f.Message() != nil {
		kind = string(f.Message().Name())
	}
	line := fmt.Sprintf("field %s.%s = %d %s", m.Name(), f.Name(), f.Number(), kind)
	switch {
	case f.IsList():
		line += " repeated"
	case f.HasOptionalKeyword():
		line += " optional"
	case f.ContainingOneof() != nil:
		line += " oneof " + string(f.ContainingOneof().Name())
	}
	return line
}

func streamed(m protoreflect.MessageDescriptor, is bool) string {
	if is {
		return "stream " + string(m.Name())
	}
	return string(m.Name())
}

// each walks one of protoreflect's lists.
func each[D any](list interface {
	Len() int
	Get(int) D
}) func(yield func(D) bool) {
	return func(yield func(D) bool) {
		for i := range list.Len() {
			if !yield(list.Get(i)) {
				return
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

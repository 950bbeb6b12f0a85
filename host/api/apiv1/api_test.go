package apiv1

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"github.com/toolhost/toolhost/internal/protogen"
)

const source = "toolhost/api/v1/api.proto"

func TestGeneratedCodeIsUpToDate(t *testing.T) {
	files, err := protogen.File{Folder: "../proto", Source: source, Registered: source}.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, got := files[len(files)-1], protodesc.ToFileDescriptorProto(File_toolhost_api_v1_api_proto)
	want.SourceCodeInfo, got.SourceCodeInfo = nil, nil
	if !proto.Equal(want, got) {
		t.Error("api.pb.go is not what api.proto says: run make gen")
	}
	for _, s := range want.Service {
		for _, m := range s.Method {
			if !strings.Contains(read(t, "apiv1connect/api.connect.go"), `"/toolhost.api.v1.`+s.GetName()+"/"+m.GetName()+`"`) {
				t.Errorf("api.connect.go has no %s/%s: run make gen", s.GetName(), m.GetName())
			}
		}
	}
}

// TestGeneratorsArePinned reads the pins where they are kept, in gen/main.go.
func TestGeneratorsArePinned(t *testing.T) {
	pins := regexp.MustCompile(`"([a-z.]+(?:/[a-z]+)?)(?:/[a-z]+)*/cmd/(protoc-gen-[a-z-]+)@(v[0-9.]+)"`).
		FindAllStringSubmatch(read(t, "../gen/main.go"), -1)
	headers := read(t, "api.pb.go") + read(t, "api_grpc.pb.go")
	for _, pin := range pins {
		module, program, version := pin[1], pin[2], pin[3]
		header := regexp.MustCompile(program + ` +` + regexp.QuoteMeta(version) + `\n`)
		if program != "protoc-gen-connect-go" && !header.MatchString(headers) { // its files do not name its version
			t.Errorf("no file here was made by %s %s: run make gen", program, version)
		}
		if program != "protoc-gen-go-grpc" && !strings.Contains(read(t, "../../../go.mod"), module+" "+version) {
			t.Errorf("%s %s is not the version of %s in go.mod", program, version, module)
		}
	}
	if len(pins) != 3 {
		t.Errorf("gen/main.go pins %d generators, want 3", len(pins))
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

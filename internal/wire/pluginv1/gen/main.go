// Command gen makes what is generated from sdk/proto/plugin.proto, from the top of the project: plugin.pb.go and
// plugin_grpc.pb.go of internal/wire/pluginv1, and the copies that the kits of other languages carry. Run it as
// `make gen`.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/toolhost/toolhost/internal/protogen"
)

const (
	folder = "sdk/proto"
	source = "plugin.proto"
	// goCode is where Go's code goes.
	goCode = "internal/wire/pluginv1"
	// nodeCopy has the text as a module, so that a plugin can be bundled into one file; pythonCopy, a serialized
	// FileDescriptorProto, is read by the Python kit.
	nodeCopy   = "sdk/node/proto.js"
	pythonCopy = "sdk/python/toolhost/plugin.desc"
	registered = "toolhost/plugin/v1/plugin.proto"
)

// The pinned generators. protoc-gen-go's version is that of google.golang.org/protobuf in go.mod.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	file := protogen.File{Folder: folder, Source: source, Registered: registered}
	files, err := file.Generate(ctx, goCode, generators...)
	if err != nil {
		return err
	}
	return copyForKits(files[0])
}

func copyForKits(file *descriptorpb.FileDescriptorProto) error {
	text, err := os.ReadFile(filepath.Join(folder, source))
	if err != nil {
		return err
	}
	if bytes.ContainsAny(text, "`$\\") {
		return fmt.Errorf("%s has a character that JavaScript reads in a text: `, $ or \\", source)
	}
	module := fmt.Sprintf("// sdk/proto/plugin.proto, by make gen.\nexport default `%s`;\n", text)
	if err := os.WriteFile(nodeCopy, []byte(module), 0o644); err != nil {
		return err
	}
	file = proto.CloneOf(file)
	file.SourceCodeInfo = nil
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(pythonCopy, data, 0o644)
}

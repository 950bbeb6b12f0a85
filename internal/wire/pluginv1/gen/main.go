// Command gen makes what is generated from sdk/proto/plugin.proto, from the top of the project: plugin.pb.go and
// plugin_grpc.pb.go of internal/wire/pluginv1, and the copies that the kits of other languages carry.
//
// It parses with a library and runs Go's own two code generators at pinned versions, so that regenerating needs
// nothing but Go and takes seconds. Run it as `make gen`.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
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
	// registered is the file's name in the process-wide registry of descriptors, where two equal names are a panic.
	registered = "toolhost/plugin/v1/plugin.proto"
)

// The pinned generators. protoc-gen-go's version is that of google.golang.org/protobuf in go.mod.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	request, err := parse()
	if err != nil {
		return err
	}
	for _, g := range generators {
		if err := generate(g, request); err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return copyForKits(request.GetProtoFile()[0])
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

// parse returns what a code generator reads: the compiled file and what to make of it.
func parse() (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{folder}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), source)
	if err != nil {
		return nil, err
	}
	file := protodesc.ToFileDescriptorProto(files[0])
	file.Name = new(registered)
	return &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{registered},
		Parameter:      new("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
	}, nil
}

func generate(generator string, request *pluginpb.CodeGeneratorRequest) error {
	in, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), "go", "run", generator)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	return write(out)
}

func write(out []byte) error {
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", *response.Error)
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(goCode, filepath.Base(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

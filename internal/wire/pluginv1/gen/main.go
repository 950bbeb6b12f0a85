// Command gen makes plugin.pb.go and plugin_grpc.pb.go from plugin.proto, in the folder named by its argument.
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
	source = "plugin.proto"
	// registered is the file's name in the process-wide registry of descriptors, where two equal names are a panic.
	registered = "toolhost/plugin/v1/plugin.proto"
)

// The pinned generators. protoc-gen-go's version is that of google.golang.org/protobuf in go.mod.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	request, err := parse(dir)
	if err != nil {
		return err
	}
	for _, g := range generators {
		if err := generate(g, request, dir); err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return nil
}

// parse gives what a code generator reads: the compiled file and what to make of it.
func parse(dir string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
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

func generate(generator string, request *pluginpb.CodeGeneratorRequest, dir string) error {
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
	return write(out, dir)
}

func write(out []byte, dir string) error {
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", *response.Error)
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

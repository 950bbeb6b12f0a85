// Package protogen makes Go code from a .proto file. It parses with a library and runs the code generators of Go at
// pinned versions, so that regenerating needs nothing but Go and takes seconds.
package protogen

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// A File is a .proto file to generate from.
type File struct {
	// Folder is where imports are found, Source the file's path in it.
	Folder, Source string
	// Registered is the file's name in the process-wide registry of descriptors, where two equal names are a panic.
	Registered string
}

// Generate runs generators, such as "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12", on the file. What they
// make goes to a folder, with paths relative to that of its registered name. It returns the descriptors of the file
// and, before it, of all that it imports.
func (f File) Generate(ctx context.Context, folder string, generators ...string) ([]*descriptorpb.FileDescriptorProto,
	error) {
	files, err := f.Compile(ctx)
	for _, g := range generators {
		if err == nil {
			err = generate(ctx, g, files, folder)
		}
	}
	return files, err
}

// Compile returns the descriptors with comments, that of the file, the last, under its registered name.
func (f File) Compile(ctx context.Context) ([]*descriptorpb.FileDescriptorProto, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{f.Folder}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, f.Source)
	if err != nil {
		return nil, err
	}
	out := imported(files[0], map[string]bool{})
	out[len(out)-1].Name = new(f.Registered)
	return out, nil
}

// imported are the file's imports, in an order in which each file comes after its own, and then the file.
func imported(file protoreflect.FileDescriptor, seen map[string]bool) (out []*descriptorpb.FileDescriptorProto) {
	if seen[file.Path()] {
		return nil
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		out = append(out, imported(file.Imports().Get(i).FileDescriptor, seen)...)
	}
	return append(out, protodesc.ToFileDescriptorProto(file))
}

func generate(ctx context.Context, generator string, files []*descriptorpb.FileDescriptorProto, folder string) error {
	name := files[len(files)-1].GetName()
	in, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name}, Parameter: new("paths=source_relative"), ProtoFile: files,
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", generator)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", generator, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return fmt.Errorf("%s: %w", generator, err)
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", generator, *response.Error)
	}
	for _, f := range response.File {
		relative, err := filepath.Rel(path.Dir(name), f.GetName())
		if err != nil {
			return fmt.Errorf("%s: %w", generator, err)
		}
		to := filepath.Join(folder, relative)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

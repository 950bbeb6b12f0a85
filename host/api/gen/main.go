// Command gen makes what is generated from the API's proto, from the top of the project: the messages and the gRPC
// client of host/api/apiv1, and the Connect handlers of host/api/apiv1/apiv1connect. Run it as `make gen`.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/protogen"
)

const (
	folder = "host/api/proto"
	source = "toolhost/api/v1/api.proto"
	goCode = "host/api/apiv1"
)

// The pinned generators. The versions of protoc-gen-go and protoc-gen-connect-go are those of the libraries in go.mod.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
	"connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1",
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	files, err := protogen.File{Folder: folder, Source: source, Registered: source}.Compile(ctx)
	if err != nil {
		return err
	}
	for _, g := range generators {
		if err := protogen.Generate(ctx, g, files, goCode); err != nil {
			return err
		}
	}
	return nil
}

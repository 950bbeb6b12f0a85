// Command gen makes what is generated from the API's proto, from the top of the project: the messages and the gRPC
// client of host/api/apiv1, and the Connect handlers of host/api/apiv1/apiv1connect. Run it as `make gen`.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/protogen"
)

const source = "toolhost/api/v1/api.proto"

// The pinned generators. The versions of protoc-gen-go and protoc-gen-connect-go are those of the libraries in go.mod.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
	"connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1",
}

func main() {
	file := protogen.File{Folder: "host/api/proto", Source: source, Registered: source}
	if _, err := file.Generate(context.Background(), "host/api/apiv1", generators...); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

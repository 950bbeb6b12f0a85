package server

import (
	"slices"
	"testing"
	"time"

	"connectrpc.com/grpchealth"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// dialTCP connects with Google's client for gRPC.
func (s *setup) dialTCP() *grpc.ClientConn {
	c, err := grpc.NewClient("passthrough:///"+s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestReflection(t *testing.T) {
	s := (&setup{drain: time.Hour, limits: func(l *limits) { l.body = time.Hour }}).start(t)
	c := reflectionv1.NewServerReflectionClient(s.dialTCP())
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+viewerToken)
	stream, err := c.ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(q); err != nil {
			t.Fatal(err)
		}
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var names []string
	list := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
	for _, one := range list.GetListServicesResponse().GetService() {
		names = append(names, one.GetName())
	}
	for _, name := range append(slices.Clone(serviceNames), grpchealth.HealthV1ServiceName) {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not listed in %v", name, names)
		}
		r := ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
		files := r.GetFileDescriptorResponse().GetFileDescriptorProto()
		if len(files) == 0 {
			t.Fatalf("%s: %v", name, r.GetErrorResponse())
		}
		var file descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(files[0], &file); err != nil || len(file.GetService()) == 0 {
			t.Errorf("%s: %v, %v", name, &file, err)
		}
	}
	s.unharmed()
	s.stop() // the stream is still open, and holds nothing up
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on when the server stops")
	}
}

// Clients of both versions need a token.
func TestReflectionNeedsAToken(t *testing.T) {
	s := (&setup{}).start(t)
	c := s.dialTCP()
	v1, err := reflectionv1.NewServerReflectionClient(c).ServerReflectionInfo(t.Context())
	if err == nil {
		_, err = v1.Recv()
	}
	alpha, err2 := reflectionv1alpha.NewServerReflectionClient(c).ServerReflectionInfo(t.Context())
	if err2 == nil {
		_, err2 = alpha.Recv()
	}
	if status.Code(err) != codes.Unauthenticated || status.Code(err2) != codes.Unauthenticated {
		t.Errorf("without a token: %v, %v", err, err2)
	}
}

func TestHealth(t *testing.T) {
	s := (&setup{}).start(t)
	c := grpc_health_v1.NewHealthClient(s.dialTCP())
	for _, name := range []string{"", serviceNames[0]} {
		r, err := c.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", name, r, err)
		}
	}
	_, err := c.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "toolhost.Unknown"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("a service that is not there: %v", err)
	}
	s.server.stop()
	if r, err := (health{s.server}).Check(t.Context(), &grpchealth.CheckRequest{}); err != nil ||
		r.Status != grpchealth.StatusNotServing {
		t.Errorf("a server that stops: %v, %v", r, err)
	}
}

package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
)

const reflectionPrefix = "/grpc.reflection."

var serviceNames = []string{apiv1connect.HostServiceName, apiv1connect.ApprovalServiceName,
	apiv1connect.PluginServiceName, apiv1connect.HistoryServiceName, apiv1connect.PolicyServiceName,
	apiv1connect.ConfigurationServiceName}

// mountGRPC adds what tools for gRPC expect of a server: its health, for all, as at /readyz, and reflection, by which
// grpcurl and its like need no copy of the proto, for viewers.
func (s *Server) mountGRPC(mount func(path string, h http.Handler), o ...connect.HandlerOption) {
	o = append(o, connect.WithReadMaxBytes(maxOpenBody))
	mount(grpchealth.NewHandler(health{s}, o...))
	reflector := grpcreflect.NewStaticReflector(append(slices.Clone(serviceNames), grpchealth.HealthV1ServiceName)...)
	for _, version := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){
		grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha, // many clients know only the older one
	} {
		path, h := version(reflector, o...)
		mount(path, s.untilStop(h))
	}
}

// untilStop ends the request's body when the server stops: clients of reflection keep their streams open.
func (s *Server) untilStop(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer context.AfterFunc(s.stopping, func() {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a writer of a test may have none
		})()
		h.ServeHTTP(w, r)
	})
}

type health struct{ server *Server }

// Check says whether the server takes calls. The name "" stands for all of it.
func (h health) Check(_ context.Context, q *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if q.Service != "" && !slices.Contains(serviceNames, q.Service) {
		return nil, Fail(connect.CodeNotFound, "", fmt.Sprintf("there is no service %.100q", q.Service),
			"The services are "+strings.Join(serviceNames, ", ")+".")
	}
	status := grpchealth.StatusServing
	if h.server.stopping.Err() != nil {
		status = grpchealth.StatusNotServing
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}

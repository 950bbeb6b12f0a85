// Package apiv1 has the messages of toolhost's API and its gRPC client, generated from
// host/api/proto/toolhost/api/v1/api.proto by `make gen`. Package apiv1connect has the handlers.
package apiv1

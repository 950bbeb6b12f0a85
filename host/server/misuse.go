package server

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/internal/textutil"
)

// methods are those of the API by path.
var methods = func() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	services := apiv1.File_toolhost_api_v1_api_proto.Services()
	for i := range services.Len() {
		all := services.Get(i).Methods()
		for j := range all.Len() {
			out["/"+string(services.Get(i).FullName())+"/"+string(all.Get(j).Name())] = all.Get(j)
		}
	}
	return out
}()

// readsOnly reports whether a method may be called by GET.
func readsOnly(m protoreflect.MethodDescriptor) bool {
	o, is := m.Options().(*descriptorpb.MethodOptions)
	return is && o.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// explained answers requests that miss the API, such as those of a person with curl, with an error that says what to do
// instead, and gives those of unary methods a detail. gRPC has its own.
func explained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, apiPrefix) || strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			next.ServeHTTP(w, r)
			return
		}
		if status, err := misuse(r); err != nil {
			if status == http.StatusMethodNotAllowed {
				w.Header().Set("Allow", http.MethodPost)
			}
			writeError(w, status, err)
			return
		}
		if methods[r.URL.Path].IsStreamingServer() {
			next.ServeHTTP(w, r)
			return
		}
		e := &errorWriter{ResponseWriter: w}
		next.ServeHTTP(e, r)
		e.end()
	})
}

// misuse says what is wrong with a request before its body.
func misuse(r *http.Request) (status int, err *connect.Error) {
	m := methods[r.URL.Path]
	if m == nil {
		names := make([]string, 0, len(methods))
		for path := range methods {
			names = append(names, strings.TrimPrefix(path, apiPrefix))
		}
		slices.Sort(names)
		name := strings.TrimPrefix(r.URL.Path, apiPrefix)
		return http.StatusNotFound, Fail(connect.CodeUnimplemented, "", fmt.Sprintf("the API has no method %.100q%s", name,
			textutil.DidYouMean(name, names)), "host/api/proto/toolhost/api/v1/api.proto lists them.")
	}
	if r.Method == http.MethodGet && readsOnly(m) {
		return 0, nil
	}
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, Fail(connect.CodeInvalidArgument, "", fmt.Sprintf("%s is called by POST, not "+
			"%.20s", m.Name(), r.Method), `Send the request as JSON, such as {}, with Content-Type: application/json.`)
	}
	kind, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(parameters["charset"])
	known := []string{"application/json", "application/proto"}
	hint := "Send Content-Type: application/json."
	if m.IsStreamingServer() {
		known = []string{"application/connect+json", "application/connect+proto"}
		hint = "This method streams: use a client of gRPC or Connect, whose Content-Type is application/connect+json."
		if m.Name() == "Call" {
			hint = "This method streams: use CallOnce, or a client of gRPC or Connect (application/connect+json)."
		}
	}
	switch {
	case kind == "":
		return http.StatusUnsupportedMediaType, Fail(connect.CodeInvalidArgument, "", "the request has no Content-Type", hint)
	case !slices.Contains(known, kind) || charset != "" && charset != "utf-8":
		return http.StatusUnsupportedMediaType, Fail(connect.CodeInvalidArgument, "", fmt.Sprintf(
			"%s is not served for the Content-Type %.100q", m.Name(), r.Header.Get("Content-Type")), hint)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return http.StatusNotImplemented, Fail(connect.CodeUnimplemented, "", fmt.Sprintf("bodies with the Content-Encoding "+
			"%.100q are not read", encoding), "Send the body without compression.")
	}
	return 0, nil
}

// A jsonError is an error as Connect writes it.
type jsonError struct {
	Code    string       `json:"code"`
	Message string       `json:"message,omitempty"`
	Details []jsonDetail `json:"details,omitempty"`
}

type jsonDetail struct {
	Type  string          `json:"type"`
	Value string          `json:"value"`
	Debug json.RawMessage `json:"debug,omitempty"`
}

func writeError(w http.ResponseWriter, status int, err *connect.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(errorText(err)) // the client may be gone
}

func errorText(err *connect.Error) []byte {
	out := jsonError{Code: err.Code().String(), Message: err.Message()}
	for _, d := range err.Details() {
		one := jsonDetail{Type: d.Type(), Value: base64.RawStdEncoding.EncodeToString(d.Bytes())}
		if m, err := d.Value(); err == nil {
			one.Debug, _ = protojson.Marshal(m) // it is for people
		}
		out.Details = append(out.Details, one)
	}
	text, _ := json.Marshal(out) // texts can be written
	return text
}

// An errorWriter gives an error of a unary method a detail, if it has none: those of a body that is not a message come
// from before all interceptors.
type errorWriter struct {
	http.ResponseWriter
	status int // of an error whose body has not come yet
}

// Unwrap is for http.ResponseController.
func (w *errorWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader keeps the status of an error until its body comes.
func (w *errorWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.status = status
}

// Write writes the body, which is written at once when it is an error.
func (w *errorWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(p)
	}
	var read jsonError
	var code connect.Code
	if json.Unmarshal(p, &read) != nil || code.UnmarshalText([]byte(read.Code)) != nil || len(read.Details) > 0 {
		w.end()
		return w.ResponseWriter.Write(p)
	}
	message, hint := plainly(read.Message)
	writeError(w.ResponseWriter, w.status, Fail(code, "", message, hint))
	w.status = 0
	return len(p), nil
}

// end writes a status that has had no body.
func (w *errorWriter) end() {
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
		w.status = 0
	}
}

const framed = "In a stream five bytes come before each message: a zero, and its length in four. Clients of gRPC and " +
	"Connect write them; a message has 16 MiB at most."

// libraryWords are parts of what the library says of a request that it cannot read, with the message in place of it, if
// it has words for programmers alone, and the hint.
var libraryWords = []struct{ part, message, hint string }{
	{"i/o timeout", "the body was not complete in time", "Send all of it within 30 seconds."},
	{"parse timeout: ", "the header Connect-Timeout-Ms is not a number of milliseconds with ten digits at most",
		"Send one, such as 30000, or leave the header out."},
	{"larger than configured max", "", framed},
	{"envelope", "", framed},
}

// plainly is an error of reading a message without the words of the library, and its hint.
func plainly(text string) (message, hint string) {
	message, hint, _ = strings.Cut(strings.TrimPrefix(text, "unmarshal message: "), "\n")
	for _, w := range libraryWords {
		if hint == "" && strings.Contains(message, w.part) {
			return cmp.Or(w.message, message), w.hint
		}
	}
	return message, hint
}

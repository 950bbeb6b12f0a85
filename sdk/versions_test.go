package sdk_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// A protocol is the wire as another version of one end knows it, whose messages are made from a descriptor alone.
type protocol struct{ protoreflect.FileDescriptor }

// versions are the first wire, as it was saved, and one that follows on the present one.
func versions(t *testing.T) map[string]protocol {
	t.Helper()
	var first descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(must(os.ReadFile("../internal/wire/pluginv1/testdata/first.desc")), &first); err != nil {
		t.Fatal(err)
	}
	next := protodesc.ToFileDescriptorProto(pluginv1.File_toolhost_plugin_v1_plugin_proto)
	next.MessageType = append(next.MessageType, &descriptorpb.DescriptorProto{Name: new("Later"),
		Field: []*descriptorpb.FieldDescriptorProto{{Name: new("text"), Number: new(int32(1)), JsonName: new("text"),
			Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: optional()}}})
	for _, m := range next.MessageType {
		if m.GetName() == "CallEvent" || m.GetName() == "SessionRequest" { // fields of a oneof stand together
			last := slices.IndexFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.OneofIndex != nil })
			m.Field = slices.Insert(m.Field, last, laterField("later_event", 901, new(int32(0))))
		}
		m.Field = append(m.Field, laterField("later", 900, nil))
	}
	return map[string]protocol{"the first version": {compile(t, &first)}, "the next version": {compile(t, next)}}
}

func laterField(name string, number int32, oneof *int32) *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{Name: new(name), Number: new(number), Label: optional(), OneofIndex: oneof,
		Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".toolhost.plugin.v1.Later")}
}

func optional() *descriptorpb.FieldDescriptorProto_Label {
	return descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
}

func compile(t *testing.T, file *descriptorpb.FileDescriptorProto) protoreflect.FileDescriptor {
	t.Helper()
	out, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// message makes a message from JSON, in which $TEXT is a text that travels as bytes. In the next version it and all in
// it have what is new.
func (p protocol) message(name, text string) *dynamicpb.Message {
	for part := range strings.SplitSeq(text, `"$`) {
		if said, _, ok := strings.Cut(part, `$"`); ok {
			text = strings.ReplaceAll(text, "$"+said+"$", base64.StdEncoding.EncodeToString([]byte(said)))
		}
	}
	m := dynamicpb.NewMessage(p.Messages().ByName(protoreflect.Name(name)))
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%s as %s: %v", text, name, err))
	}
	addLater(m)
	return m
}

func addLater(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				addLater(v.List().Get(i).Message())
			}
		default:
			addLater(v.Message())
		}
		return true
	})
	if f := m.Descriptor().Fields().ByName("later"); f != nil && m.Descriptor().Name() != "Later" {
		later := dynamicpb.NewMessage(f.Message())
		later.Set(f.Message().Fields().ByName("text"), protoreflect.ValueOfString("new"))
		m.Set(f, protoreflect.ValueOfMessage(later))
	}
}

// event makes a CallEvent; what the version does not know is no event.
func (p protocol) events(texts ...string) (out []proto.Message) {
	for _, text := range texts {
		if strings.Contains(text, "laterEvent") && p.Messages().ByName("Later") == nil {
			continue
		}
		out = append(out, p.message("CallEvent", text))
	}
	return out
}

// serve serves a plugin of the version in memory.
func (p protocol) serve(t *testing.T) *client.Client {
	t.Helper()
	answers := map[string][]proto.Message{
		"Describe": {p.message("DescribeResponse", `{"name":"other","version":"2","sdk":"go/9","configSchema":"${}$","tools":[`+
			`{"name":"x","description":"d","inputSchema":"${"type":"object"}$","hints":{"readOnly":true}}]}`)},
		"Configure": {p.message("ConfigureResponse", `{}`)},
		"Preview":   {p.message("PreviewResponse", `{"effect":"ask","reason":"why","content":[{"type":"text","text":"$p$"}]}`)},
		"Call": p.events(`{"started":{}}`, `{"laterEvent":{"text":"?"}}`, `{"progress":{"done":1,"message":"half"}}`,
			`{"output":{"stream":"stdout","data":"$out$"}}`, `{"log":{"level":"info","message":"said"}}`,
			`{"laterEvent":{}}`, `{"result":{"content":[{"type":"text","text":"$done$"}],"structured":"${"n":1}$"}}`),
	}
	lis := bufconn.Listen(1 << 20)
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		full, _ := grpc.MethodFromServerStream(stream)
		method := p.Services().ByName("PluginService").Methods().ByName(protoreflect.Name(path.Base(full)))
		if method == nil || answers[path.Base(full)] == nil {
			return status.Error(codes.Unimplemented, full)
		}
		in := dynamicpb.NewMessage(method.Input())
		if err := stream.RecvMsg(in); err != nil {
			return err
		}
		for _, m := range answers[path.Base(full)] {
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		}
		return nil
	}))
	served := make(chan error, 1)
	go func() { served <- g.Serve(lis) }()
	t.Cleanup(func() { g.Stop(); <-served })
	return client.New(dial(t, lis))
}

func dial(t *testing.T, lis *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn := must(grpc.NewClient("passthrough:memory", append(wire.DialOptions(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A host uses a plugin of an earlier or a later version as one of its own.
func TestPluginsOfOtherVersions(t *testing.T) {
	for name, p := range versions(t) {
		t.Run(name, func(t *testing.T) {
			c := p.serve(t)
			d, err := c.Describe(t.Context())
			if err != nil || d.Name != "other" || len(d.Tools) != 1 || d.Tools[0].Name != "x" || !*d.Tools[0].Hints.ReadOnly {
				t.Fatalf("it is described as %+v, %v", d, err)
			}
			if err := c.Configure(t.Context(), json.RawMessage(`{}`), "/w", nil); err != nil {
				t.Error(err)
			}
			preview, err := c.Preview(t.Context(), &sdk.Request{Tool: "x", RunID: "1"})
			if err != nil || preview.Effect != "ask" || preview.Content[0].Text != "p" {
				t.Errorf("the preview is %+v, %v", preview, err)
			}
			var seen []string
			r, err := c.Call(t.Context(), &sdk.Request{Tool: "x", RunID: "2", Arguments: json.RawMessage(`{}`),
				Events: func(e sdk.Event) { seen = append(seen, fmt.Sprint(e.Type, e.Message, string(e.Data))) }})
			if err != nil || r.Content[0].Text != "done" || string(r.Structured) != `{"n":1}` {
				t.Errorf("the result is %+v, %v", r, err)
			}
			if want := []string{"started", "progresshalf", "outputout", "logsaid"}; !slices.Equal(seen, want) {
				t.Errorf("the events are %q, want %q", seen, want)
			}
		})
	}
}

// A plugin answers a host of an earlier or a later version, with and without a session.
func TestHostsOfOtherVersions(t *testing.T) {
	for name, p := range versions(t) {
		t.Run(name, func(t *testing.T) {
			plugin := with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				r.Progress(1, 2, "half")
				return sdk.JSON(string(r.Arguments) + r.CallID), nil
			})
			sdk.Configure(plugin, func(context.Context, *sdk.Request, none) error { return nil })
			ctx, stop := context.WithCancel(t.Context())
			_, lis, ended := listening(t, ctx, plugin)
			defer func() { stop(); <-ended }()
			conn := dial(t, lis)
			invoke := func(method, request, response, text string) *dynamicpb.Message {
				out := p.message(response, `{}`)
				if err := conn.Invoke(ctx, "/toolhost.plugin.v1.PluginService/"+method, p.message(request, text), out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			described := protojson.Format(invoke("Describe", "DescribeRequest", "DescribeResponse", `{}`))
			if !strings.Contains(described, `"name"`) || !strings.Contains(described, `"tools"`) {
				t.Errorf("it is described as %s", described)
			}
			invoke("Configure", "ConfigureRequest", "ConfigureResponse", `{"config":"${}$","workdir":"/w"}`)
			err := conn.Invoke(ctx, "/toolhost.plugin.v1.PluginService/Later", p.message("DescribeRequest", `{}`),
				p.message("DescribeResponse", `{}`))
			if status.Code(err) != codes.Unimplemented {
				t.Errorf("a method that it does not know has the status %v", err)
			}
			request := `{"callId":"c","runId":"%d","tool":"x","arguments":"${}$","workdir":"/w"}`
			p.checkEvents(t, p.callEvents(t, conn, fmt.Sprintf(request, 1)))
			p.checkEvents(t, p.sessionEvents(t, lis, fmt.Sprintf(`{"id":7,"call":%s}`, fmt.Sprintf(request, 2))))
		})
	}
}

func (p protocol) callEvents(t *testing.T, conn *grpc.ClientConn, request string) (out []string) {
	t.Helper()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true},
		"/toolhost.plugin.v1.PluginService/Call")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(p.message("CallRequest", request)), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	for {
		m := dynamicpb.NewMessage(p.Messages().ByName("CallEvent"))
		err := stream.RecvMsg(m)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, protojson.MarshalOptions{}.Format(m))
	}
}

func (p protocol) sessionEvents(t *testing.T, lis *bufconn.Listener, request string) (out []string) {
	t.Helper()
	session := must(wire.OpenSession(must(lis.DialContext(t.Context())), ""))
	defer session.Close()
	if p.Messages().ByName("Later") != nil { // a request that only the next version knows, and that needs no answer
		if err := session.Post(wire.Proto{Message: p.message("SessionRequest", `{"id":6,"laterEvent":{}}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Post(wire.Proto{Message: p.message("SessionRequest", request)}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := session.Next()
		if err != nil {
			t.Fatal(err)
		}
		m := dynamicpb.NewMessage(p.Messages().ByName("SessionEvent"))
		if err := proto.Unmarshal(frame, m); err != nil {
			t.Fatal(err)
		}
		fields := m.Descriptor().Fields()
		if m.Get(fields.ByName("id")).Uint() != 7 {
			continue
		}
		events := m.Get(fields.ByName("events")).List()
		for i := range events.Len() {
			out = append(out, protojson.Format(events.Get(i).Message().Interface()))
			if strings.Contains(out[len(out)-1], `"result"`) {
				return out
			}
		}
	}
}

func (protocol) checkEvents(t *testing.T, events []string) {
	t.Helper()
	want := []string{`"started"`, `"half"`, base64.StdEncoding.EncodeToString([]byte(`"{}c"`))}
	if len(events) != len(want) {
		t.Fatalf("the events are %q", events)
	}
	for i, e := range events {
		if !strings.Contains(e, want[i]) {
			t.Errorf("event %d is %s, want %s", i, e, want[i])
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/kaptinlin/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/internal/tools/bench/payload"
)

// handshake is that of the stock plugin.
var handshake = goplugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BENCH", MagicCookieValue: "bench"}

// echoPlugin dispenses the connection.
type echoPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (echoPlugin) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the client")
}

func (echoPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// The arms that are measured in processes of their own. What follows a colon is not part of the name.
const (
	ours         = "toolhost"
	oursWide     = ours + ":wide"
	oursLarge    = ours + ":large"
	oursBridge   = ours + ":bridge"
	goPlugin     = "go-plugin AutoMTLS"
	naiveHost    = "kaptinlin and go-plugin AutoMTLS"
	officialMCP  = "MCP go-sdk over stdio"
	rawSocket    = "raw socket"
	processACall = "a process per call"
)

// make makes one in this process.
func (b *bench) make(kind string, callers, size int) (*arm, error) {
	switch kind {
	case goPlugin:
		return b.stock(callers, size)
	case naiveHost:
		return b.naive(callers)
	case officialMCP:
		return b.mcp(callers, size)
	case rawSocket:
		return b.rawSocket(callers, size)
	case processACall:
		return b.once(callers, size)
	case oursBridge:
		return b.bridgeArm(callers, size)
	}
	blocks := b.plugin(0)
	if kind == oursLarge {
		blocks += "max_large_result_bytes = 200000000\n"
	}
	h, err := b.openWith(blocks)
	if err != nil {
		return nil, err
	}
	a := h.arm(ours, "echo", payload.Arguments(size), callers, size)
	switch kind {
	case oursWide:
		a = h.arm(ours, "wide", payload.WideArguments(), callers, size)
	case oursLarge:
		a.call = func(int) error { return h.callLarge(size) }
	}
	a.close = func() { _ = h.Close() }
	return a, h.call("echo", payload.Arguments(100), 100)
}

// patience is how long an arm may take to come up.
const patience = 30 * time.Second

func expect(got, size int, err error) error {
	if err == nil && got != size {
		err = fmt.Errorf("%d bytes came, not %d", got, size)
	}
	return err
}

// rawSocket is a Unix socket with a connection for each caller: the least that it can cost.
func (b *bench) rawSocket(callers, size int) (*arm, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("raw%d", time.Now().UnixNano()))
	cmd := exec.Command(b.program("once"), path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	conns := make([]net.Conn, callers)
	buffers := make([][]byte, callers)
	for i := range conns {
		buffers[i] = make([]byte, size)
		for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			if conns[i], err = net.Dial("unix", path); err == nil || time.Now().After(end) {
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return &arm{name: rawSocket, callers: callers, pids: func() []int { return []int{cmd.Process.Pid} },
		call: func(i int) error {
			if _, err := conns[i].Write(payload.Request(size)); err != nil {
				return err
			}
			_, err := io.ReadFull(conns[i], buffers[i])
			return err
		}, close: func() {
			for _, c := range conns {
				_ = c.Close()
			}
			_ = stdin.Close()
			_ = cmd.Wait()
		}}, nil
}

// startStock starts a plugin of stock go-plugin.
func (b *bench) startStock() (*goplugin.Client, *grpc.ClientConn, error) {
	client := goplugin.NewClient(&goplugin.ClientConfig{HandshakeConfig: handshake, AutoMTLS: true, Logger: hclog.NewNullLogger(),
		Cmd: exec.Command(b.program("stock")), Plugins: goplugin.PluginSet{"echo": echoPlugin{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}})
	protocol, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, nil, err
	}
	raw, err := protocol.Dispense("echo")
	if err != nil {
		client.Kill()
		return nil, nil, err
	}
	return client, raw.(*grpc.ClientConn), nil
}

func callStock(conn *grpc.ClientConn, size int) error {
	var out wrapperspb.BytesValue
	err := conn.Invoke(context.Background(), "/bench.Echo/Echo", &wrapperspb.BytesValue{Value: payload.Request(size)}, &out)
	return expect(len(out.Value), size, err)
}

func (b *bench) stock(callers, size int) (*arm, error) {
	client, conn, err := b.startStock()
	if err != nil {
		return nil, err
	}
	return &arm{name: goPlugin, callers: callers, call: func(int) error { return callStock(conn, size) },
		pids: func() []int { return []int{client.ReattachConfig().Pid} }, close: client.Kill}, nil
}

// naive checks arguments with the schema library and calls a stock plugin.
func (b *bench) naive(callers int) (*arm, error) {
	schema, err := jsonschema.NewCompiler().Compile(payload.WideSchema())
	if err != nil {
		return nil, err
	}
	a, err := b.stock(callers, 100)
	if err != nil {
		return nil, err
	}
	args := payload.WideArguments()
	call := a.call
	a.name = naiveHost
	a.call = func(i int) error {
		if r := schema.ValidateJSON(args); !r.IsValid() {
			return errors.New("the arguments do not fit")
		}
		return call(i)
	}
	return a, nil
}

func (b *bench) mcp(callers, size int) (*arm, error) {
	cmd := exec.Command(os.Args[0], serveArgument)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(context.Background(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	return &arm{name: officialMCP, callers: callers, pids: func() []int { return []int{cmd.Process.Pid} },
		call: func(int) error {
			r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: payload.Arguments(size)})
			if err != nil {
				return err
			}
			return expect(len(r.Content[0].(*mcp.TextContent).Text), size, nil)
		}, close: func() { _ = s.Close() }}, nil
}

func (b *bench) once(callers, size int) (*arm, error) {
	return &arm{name: processACall, callers: callers, close: func() {}, call: func(int) error {
		cmd := exec.Command(b.program("once"))
		cmd.Stdin = bytes.NewReader(payload.Request(size))
		out, err := cmd.Output()
		return expect(len(out), size, err)
	}}, nil
}

// A toolhost is a configuration with ten rules and the record, opened as an embedder does.
type toolhost struct{ *bootstrap.Instance }

// open makes a host of so many plugins, whose blocks have the settings too.
func (b *bench) open(plugins int, settings ...string) (*toolhost, error) {
	var blocks strings.Builder
	for i := range plugins {
		blocks.WriteString(b.plugin(i, settings...))
	}
	return b.openWith(blocks.String())
}

// plugin is the block of a plugin.
func (b *bench) plugin(i int, settings ...string) string {
	return fmt.Sprintf("plugin \"bench%d\" {\n command = [%q]\n%s\n}\n", i, b.program("plugin"), strings.Join(settings, "\n"))
}

// bridgeArm calls the server of the MCP arm through toolhost, without rules and record: the official client has neither.
func (b *bench) bridgeArm(callers, size int) (*arm, error) {
	h, err := b.openConfig(fmt.Sprintf("plugin \"bench0\" {\n command = [%q]\n trust_hints = true\n config {\n  command = [%q, %q]\n }\n}\n",
		filepath.Join(b.bin, toolname.ProgramPrefix+"mcp"), os.Args[0], serveArgument))
	if err != nil {
		return nil, err
	}
	a := h.arm(ours, "echo", payload.Arguments(size), callers, size)
	if err := a.call(0); err != nil { // which starts the server
		return nil, errors.Join(err, h.Close())
	}
	pids := h.pids()
	for _, pid := range h.pids() {
		pids = append(pids, childrenOf(pid)...)
	}
	a.pids, a.close = func() []int { return pids }, func() { _ = h.Close() }
	return a, nil
}

// openWith makes a host of the plugins in these blocks, with ten rules and the record.
func (b *bench) openWith(plugins string, middleware ...host.Middleware) (*toolhost, error) {
	var config strings.Builder
	fmt.Fprintf(&config, "audit {\n path = %q\n}\n%s", filepath.Join(b.dir, fmt.Sprintf("record%d", time.Now().UnixNano())), plugins)
	config.WriteString("policy \"project\" {\n")
	for i := range 10 {
		when := ""
		if i%2 == 0 {
			when = fmt.Sprintf("when = args.text == \"bad%d\" || contains([\"x\", \"y\"], args.text)", i)
		}
		tools := `["bench0__echo", "bench0__write"]`
		if when == "" {
			tools = fmt.Sprintf(`["other%d__*"]`, i)
		}
		fmt.Fprintf(&config, "rule \"r%d\" {\n tools = %s\n %s\n effect = \"deny\"\n}\n", i, tools, when)
	}
	config.WriteString("}\n")
	return b.openConfig(config.String(), middleware...)
}

func (b *bench) openConfig(config string, middleware ...host.Middleware) (*toolhost, error) {
	path := filepath.Join(b.dir, "config.hcl") // one for all: its plugins have kept their folders for state
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	i, err := bootstrap.Open(context.Background(), bootstrap.Options{Config: path, TrustNamed: true, Refresh: true,
		Approve: bootstrap.ApproveAlways, Middleware: middleware})
	if err != nil {
		return nil, err
	}
	return &toolhost{i}, nil
}

func (h *toolhost) pids() (out []int) {
	for _, p := range h.Processes() {
		if pid := p.Status().PID; pid != 0 {
			out = append(out, pid)
		}
	}
	return out
}

func (h *toolhost) call(tool string, args json.RawMessage, size int) error {
	r := h.callTool(tool, args)
	if r.Error != nil {
		return r.Error
	}
	return expect(len(r.Content[0].Text), size, nil)
}

func (h *toolhost) callTool(tool string, args json.RawMessage) *host.Result {
	return h.Host().Call(context.Background(), host.Call{Tool: "bench0__" + tool, Arguments: args})
}

// arm makes calls of one tool through the whole chain.
func (h *toolhost) arm(name, tool string, args json.RawMessage, callers, size int) *arm {
	return &arm{name: name, callers: callers, pids: h.pids, close: func() {},
		call: func(int) error { return h.call(tool, args, size) }}
}

// callLarge makes a call whose result goes to a file.
func (h *toolhost) callLarge(size int) error {
	r := h.callTool("large", payload.Arguments(size))
	if r.Error != nil {
		return r.Error
	}
	if len(r.KeptFiles) != 1 {
		return fmt.Errorf("kept in %v", r.KeptFiles)
	}
	info, err := os.Stat(r.KeptFiles[0])
	if err != nil {
		return err
	}
	return expect(int(info.Size()), size, os.Remove(r.KeptFiles[0]))
}

// serveArgument makes this program the server of the MCP arm.
const serveArgument = "serve-mcp"

func serveMCP() {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", Description: "For the benchmark.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in payload.Args
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(payload.Text(in.Size))}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

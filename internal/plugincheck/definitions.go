package plugincheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// byHand runs the program as a person would.
func (c *checker) byHand(ctx context.Context) *problem {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { killGroup(cmd.Process); return nil }
	var stderr tail
	cmd.Stderr, cmd.WaitDelay = &stderr, holdTime
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it ended by itself, with exit code 0
		err = nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	fix := "Without " + cookie + " in the environment, say on standard error what the program is, and exit with code 2."
	switch {
	case ctx.Err() != nil:
		return warned(fix, "run without a host it had not ended after %s", c.Timeout)
	case err != nil && !ok:
		if why := supervise.Diagnose(c.Command[0]); why != "" { // the system does not say what of a script is wrong
			err = errors.New(why)
		} else if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return failed("Name the program that was built for this machine, or a script that begins with #! and can be "+
			"executed.", "%s cannot be run: %v", c.Command[0], err)
	case !ok || exit.ExitCode() != 2:
		return warned(fix, "run without a host it ended with exit code %d", cmd.ProcessState.ExitCode())
	case stderr.panicked(): // with the same exit code
		return warned(fix, "run without a host it panics%s", stderr.quote())
	case !stderr.any():
		return warned(fix, "run without a host it says nothing on standard error")
	}
	return nil
}

func (c *checker) handshake(ctx context.Context) *problem {
	p, err := start(ctx, c.Options)
	if err != nil {
		return failed(handshakeFix(err), "%v", err)
	}
	c.process = p
	const slow = 2 // seconds
	if s := p.took.Seconds(); s > slow {
		return warned("Do slow work at the first call.", "the handshake came after %.1f s; a call waits for it", s)
	}
	return nil
}

// handshakeFix says what to do about a start that failed with err, by its cause.
func handshakeFix(err error) string {
	const serve = "Listen on a socket in PLUGIN_UNIX_SOCKET_DIR, then print 1|1|unix|PATH|grpc| as the very first line " +
		"on standard output, and flush it. Print nothing before. The serve function of a kit does that."
	e, ended := errors.AsType[*endedError](err)
	switch {
	case errors.Is(err, errStopped):
		return stoppedFix
	case errors.As(err, new(*foreignError)):
		return "Serve in the process that the host starts: begin the last line of a script with exec, and start no other " +
			"process that serves."
	case !ended:
		return serve
	case e.said:
		return "Correct what its standard error says, quoted above: the program ended by itself before it served."
	}
	return "Let it run until its host ends it, and say on standard error why it cannot. " + serve
}

func (c *checker) describe(ctx context.Context) *problem {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	d, err := c.process.client.Describe(ctx)
	if err != nil {
		return failed("Describe must answer before Configure, and without a call.", "%v%s", err, c.process.stderr.quote())
	}
	if c.description = d; len(d.ConfigSchema) > 0 {
		if err := c.sendConfig(ctx, c.process); err == nil { // else the item configure says it
			if again, err := c.process.client.Describe(ctx); err == nil {
				c.description = again
			}
		}
	}
	switch {
	case d.Name == "" || d.Version == "" || d.SDK == "":
		return warned("", "its name is %q, its version %q, its kit %q; people read them in status and logs", d.Name,
			d.Version, d.SDK)
	case len(c.description.Tools) == 0 && !d.Dynamic:
		return warned("Add a tool, or say that it is dynamic.", "it has no tools")
	}
	return nil
}

func (c *checker) sendConfig(ctx context.Context, p *process) error {
	config := c.Config
	if config == nil {
		config = json.RawMessage("{}")
	}
	return p.client.Configure(ctx, config, c.Workdir, nil)
}

func (c *checker) token(ctx context.Context, p *process) *problem {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	for _, token := range []string{"", "wrong"} {
		conn, err := p.dial(token)
		if err != nil {
			return failed("", "%v", err)
		}
		_, err = pluginv1.NewPluginServiceClient(conn).Describe(ctx, &pluginv1.DescribeRequest{})
		_ = conn.Close()
		if status.Code(err) != codes.Unauthenticated {
			return failed("Compare the metadata toolhost-token of each request with "+wire.EnvToken+", and answer "+
				"UNAUTHENTICATED when it is absent, another one, or there twice.",
				"a request with the token %q got the status %v, and must get Unauthenticated", token, status.Code(err))
		}
	}
	return nil
}

func (c *checker) health(ctx context.Context, p *process) *problem {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := healthpb.NewHealthClient(p.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: "plugin"})
	switch {
	case status.Code(err) == codes.Unimplemented || status.Code(err) == codes.NotFound:
		return warned("Serve grpc.health.v1.Health for the service plugin.", "it has no health service for plugin: %v", err)
	case err != nil:
		return failed("", "%v", err)
	case r.GetStatus() != healthpb.HealthCheckResponse_SERVING:
		return failed("", "its health is %v", r.GetStatus())
	}
	return nil
}

func (c *checker) definitions(context.Context) *problem {
	var wrong, unchecked []string
	names := map[string]string{}
	for i := range c.description.Tools {
		t := &c.description.Tools[i]
		if err := t.Check(); err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		if other, twice := names[strings.ToLower(t.Name)]; twice {
			wrong = append(wrong, fmt.Sprintf("tools %q and %q have the same name but for letter case", other, t.Name))
		}
		names[strings.ToLower(t.Name)] = t.Name
		compile := schema.Compile
		if t.ForeignSchema {
			compile = schema.CompileForeign
		}
		s, err := compile(t.InputSchema)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("tool %q: the input schema: %v", t.Name, err))
		} else if len(s.Unchecked) > 0 {
			unchecked = append(unchecked, fmt.Sprintf("tool %q: not checked: %s", t.Name, strings.Join(s.Unchecked, "; ")))
		}
		if t.OutputSchema != nil {
			if _, err := schema.Compile(t.OutputSchema); err != nil && !t.ForeignSchema {
				wrong = append(wrong, fmt.Sprintf("tool %q: the output schema: %v", t.Name, err))
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return failed("A host leaves such a tool out.", "%s", strings.Join(wrong, "; "))
	case len(unchecked) > 0:
		return warned("", "%s", strings.Join(unchecked, "; "))
	}
	return nil
}

// fewWords is how many bytes a description has that cannot say what a tool does and when to use it.
const fewWords = 20

func (c *checker) descriptions(context.Context) *problem {
	var wrong []string
	for _, t := range c.description.Tools {
		if len(t.Description) < fewWords {
			wrong = append(wrong, fmt.Sprintf("tool %q: the description %q is very short", t.Name, t.Description))
		}
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		_ = json.Unmarshal(t.InputSchema, &s) // definitions says what is wrong
		for name, property := range s.Properties {
			var p struct {
				Description string `json:"description"`
				Ref         string `json:"$ref"`
			}
			if json.Unmarshal(property, &p) == nil && p.Description == "" && p.Ref == "" {
				wrong = append(wrong, fmt.Sprintf("tool %q: argument %q has no description", t.Name, name))
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return warned("Say what the tool does, when to use it and what it returns; and what each argument means, with an "+
		"example.", "%s", list(wrong))
}

func (c *checker) vendors(context.Context) *problem {
	var tools []*host.Tool
	for i := range c.description.Tools {
		t := c.description.Tools[i]
		if t.Check() == nil {
			t.Name = "plugin__" + t.Name
			tools = append(tools, &host.Tool{Plugin: "plugin", Tool: t})
		}
	}
	var wrong []string
	for _, f := range modelapi.Formats() {
		_, problems := modelapi.Export(f, tools)
		for _, p := range problems {
			wrong = append(wrong, p.Error())
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return warned("The tool cannot be offered in that format; the message says which part of the schema is in the way.",
		"%s", list(wrong))
}

func (c *checker) configure(ctx context.Context) *problem {
	config, err := schema.CheckConfig(c.description.ConfigSchema, c.Config, nil)
	invalid, isInvalid := errors.AsType[*schema.Invalid](err)
	switch {
	case errors.Is(err, schema.ErrNoConfig):
		return failed("", "a configuration was given, and the plugin takes none")
	case isInvalid && c.Config != nil:
		return failed("Give another configuration; the message says what the plugin's schema takes.",
			"the configuration does not fit: %v", invalid)
	case isInvalid:
		return skipped("give its configuration: --plugin-config '{…}'; without it: %v", invalid)
	case err != nil:
		return failed("", "%v", err)
	case config == nil:
		return nil
	}
	p, err := start(ctx, c.Options)
	if err != nil {
		return failed("", "it does not start a second time: %v", err)
	}
	defer p.kill()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := c.sendConfig(ctx, p); err != nil {
		return failed("", "%v", err)
	}
	return nil
}

// list is some of many lines.
func list(lines []string) string {
	const most = 10
	if n := len(lines) - most; n > 0 {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "; ")
}

package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

const configurationPage = "../../docs/configuration.md"

// everyBlock has one of each block. The attributes that reading asks for are those that the page lists.
const everyBlock = `
plugin "a" {
  restart {}
  limits {}
  config {}
  sandbox {
    limits {}
  }
  tool "t" {}
}
plugin_discovery "d" {
  sandbox {
    limits {}
  }
}
policy "user" {
  rule "r" {
    commands {}
  }
}
profile "p" {
  rule "r" {
    commands {}
  }
}
root "r" {}
approval {
  notify "n" {}
}
audit {}
mcp {
  identity "i" {}
}
serve {
  token "t" {}
}
telemetry {}
history {}
`

// sections are the blocks in the order of the page, with their headings and an introduction.
var sections = []struct{ block, heading, text string }{
	{"", "Top level", ""},
	{"plugin", `plugin "NAME"`,
		"A plugin to run. NAME has at most 32 small letters, digits and \"-\"; the tools are called " +
			"`NAME__TOOL`. One program may run several times under different names."},
	{"plugin.restart", "restart, in a plugin", "What happens after crashes. The first restart is at once."},
	{"plugin.limits", "limits, in a plugin", "For all tools of the plugin together."},
	{"plugin.tool", `tool "NAME", in a plugin`, "Settings for one tool, by its own name."},
	{"plugin.sandbox", "sandbox, in a plugin or a plugin_discovery", "What the processes can reach: see " +
		"[security.md](security.md). A discovery command without this block runs `supervised`."},
	{"plugin.sandbox.limits", "limits, in a sandbox", "For each process."},
	{"plugin_discovery", `plugin_discovery "NAME"`, "A command that prints a JSON array of plugins to run."},
	{"policy", `policy "LAYER"`, "Rules of a layer: `system`, `user`, `project`, `profile` or `session`. See " +
		"[policy.md](policy.md)."},
	{"policy.rule", `rule "NAME", in a policy or a profile`,
		"All conditions must hold; one that is not written always holds."},
	{"policy.rule.commands", "commands, in a rule", "The effect depends on the shell command, judged part by part."},
	{"profile", `profile "NAME"`, "A choice of tools and rules, for `--profile NAME`."},
	{"root", `root "NAME"`, "A folder outside of the work folder that tools may read. Ignored in a file that is not " +
		"trusted."},
	{"approval", "approval", "How people are asked."},
	{"approval.notify", `notify "NAME", in approval`,
		"A webhook or a command that is notified when a call begins to wait for a " +
			"person at a running host (`toolhost serve`), and when that ends, as JSON. See [serve.md](serve.md#approvals)."},
	{"audit", "audit", "The record of decisions and calls; without this block none is kept."},
	{"mcp", "mcp", "Who may use `toolhost mcp --http`. See [mcp.md](mcp.md)."},
	{"mcp.identity", `identity "NAME", in mcp`, "Each has plugin processes, sessions and remembered answers of its own. " +
		"Rules know it as the caller `mcp:NAME`."},
	{"serve", "serve", "How `toolhost serve` serves this configuration."},
	{"serve.token", `token "NAME", in serve`, "Someone who may use the address beside the user. Rules know its calls as " +
		"the caller `api:NAME`."},
	{"telemetry", "telemetry", "Where `toolhost serve` sends traces and metrics over OTLP. The standard variables " +
		"`OTEL_*` take precedence. See [observability.md](observability.md)."},
	{"history", "history", "How much of the record `toolhost serve` keeps searchable, in an index beside it. Nothing is " +
		"removed from the record. See [observability.md](observability.md#history)."},
	{"locals", "locals", "Names for values: `locals { a = \"x\" }` is used as `local.a`."},
}

// A key is the default and the meaning of an attribute or a block; its name and type come from the reading.
type key struct{ standard, meaning string }

var restart = supervise.Defaults.Restart

var limitKeys = map[string]key{
	"concurrency": {"no limit", "calls at once"},
	"queue":       {"16 times concurrency", "calls that wait for `concurrency`; needs it"},
	"rate":        {"no limit", "calls a second, in the long run; one too early is refused with `E_LIMIT`"},
	"burst":       {"calls of one second", "calls at once after a pause; needs `rate`"},
	"max_calls":   {"no limit", "calls in one session"},
}

var keys = map[string]map[string]key{
	"": {
		"plugin_dirs": {"none", "folders with programs `toolhost-plugin-NAME`, each a plugin NAME; a plugin block of that " +
			"name configures it"},
		"lock": {"`warn` if there is a lock file, else `off`",
			"what happens to a plugin that is not in `toolhost.lock.hcl`: it runs, with a notice (`warn`); it is not started " +
				"(`require`); the file is not used (`off`)"},
		"floor": {"`true`", "`false` allows commands that destroy the machine, a home folder or a disk, if the rules do; " +
			"ignored in a file that is not trusted"},
		"max_cost_tier":   {"no limit", "the most expensive tier of tools that may be called"},
		"default_timeout": {"2m", "for tools that have no timeout of their own"},
		"max_result_bytes": {"131072",
			"bytes of text that are kept of a result, for tools without a limit of their own; the rest goes to a file"},
		"max_large_result_bytes": {"67108864",
			"bytes of a result over 4 MiB, which goes to a file as it comes; a larger one is refused, as are all over 4 MiB " +
				"with 4194304"},
		"error_message_limit": {"1000", "characters that are kept of an error message"},
		"max_concurrency":     {"256", "calls at once, of all plugins together"},
		"plugin":              {"", "a plugin to run"},
		"plugin_discovery":    {"", "a command that finds plugins"},
		"policy":              {"", "rules"},
		"profile":             {"", "a choice of tools and rules"},
		"root":                {"", "a folder outside of the work folder that tools may read"},
		"approval":            {"", "how people are asked"},
		"audit":               {"", "the record of decisions and calls"},
		"mcp":                 {"", "who may use `toolhost mcp --http`"},
		"serve":               {"", "how `toolhost serve` serves this configuration"},
		"telemetry":           {"", "where traces and metrics are sent"},
		"history":             {"", "how much of the record is searchable"},
		"locals":              {"", "names for values"},
	},
	"history": {
		"keep_days":  {"all", "calls that are older are removed from the index"},
		"keep_calls": {"all", "of more calls than these, the oldest are removed from the index, 1024 at a time"},
	},
	"serve": {
		"address": {"`127.0.0.1:7411`, or another port if that is taken",
			"where HTTP is served; an address that others can reach needs TLS"},
		"socket": {"none", "a Unix socket for the user, beside the one in the user's runtime folder"},
		"hosts": {"those of this machine", "names by which clients reach the address, or a proxy before it, whose port is " +
			"named too unless it is 80 or 443; requests for other names are refused"},
		"tls_cert": {"no TLS", "the file with the certificate chain, as PEM; read again when it changes; needs `tls_key`"},
		"tls_key":  {"no TLS", "the file with the private key, as PEM; read again when it changes; needs `tls_cert`"},
		"on_demand": {"`false`",
			"`true` has commands such as `toolhost call` start a host in the background when none is running"},
		"idle_timeout": {"15m", "after how long without calls and clients a host in the background ends"},
		"token":        {"", "someone who may use the address beside the user"},
	},
	"serve.token": {
		"value": {"", "the bearer token, by reference, such as `env.TOOLHOST_TOKEN`; 16 characters at least"},
		"role":  {"", "what it may do: read (`viewer`), also answer approvals (`approver`), or everything (`operator`)"},
	},
	"telemetry": {
		"endpoint":     {"none", "the URL of an OTLP collector, such as `\"http://127.0.0.1:4318\"`"},
		"protocol":     {"`http/protobuf`", "the form of OTLP"},
		"headers":      {"none", "sent with each export; a secret by reference, such as `env.OTLP_TOKEN`"},
		"sample_ratio": {"`1`", "the part of the traces that are sent, of those whose caller has not decided"},
		"content": {"`false`", "`true` adds arguments and results to traces, without secrets; without it they never " +
			"leave by telemetry"},
	},
	"mcp": {"identity": {"", "someone with a token"}},
	"mcp.identity": {
		"token":   {"", "the bearer token, by reference, such as `env.MCP_TOKEN`; 16 characters at least"},
		"profile": {"all tools", "the profile whose tools it sees, under its rules"},
	},
	"plugin": {
		"command": {"`toolhost-plugin-NAME` from `plugin_dirs`",
			"program and arguments, never through a shell; arguments that name files beside the configuration are made " +
				"absolute"},
		"attach": {"none", "the file of a plugin that was started by hand with `TOOLHOST_ATTACH`: the host joins that " +
			"process " +
			"instead of starting one, see [plugins.md](plugins.md)"},
		"dir":         {"the work folder", "the folder that the plugin starts in"},
		"env":         {"none", "variables, besides the few that every plugin gets"},
		"inherit_env": {"`false`", "`true` passes on the host's whole environment"},
		"sha256":      {"any program", "checksum of the program, 64 hex digits"},
		"eager":       {"`false`", "`true` starts the plugin at once instead of with the first call"},
		"standby": {"`false`", "`true` keeps a second process ready, which takes over when the first dies: for plugins " +
			"that keep no " +
			"state between calls and can run twice; it takes their memory twice"},
		"start_timeout": {hclfile.Short(supervise.Defaults.StartTimeout),
			"from the start until the plugin has described its tools"},
		"drain_timeout": {"the calls' own deadlines", "how long calls may go on in the old process after a reload"},
		"trust_hints": {"the plugin's own",
			"`true` believes also hints that the plugin passes on, such as those of an MCP server; " +
				"`false` ignores what the plugin says of its tools: hints, category and cost tier"},
		"may_call": {"none", "patterns of full names of tools that the plugin may call during calls of its own; such calls " +
			"have " +
			"the caller, session, catalog and deadline of the call, and rules know them as the caller `plugin:NAME` too"},
		"pin_tools": {"`true`", "`false` leaves the tools' definitions out of the lock file"},
		"restart":   {"", "restarts after crashes"},
		"limits":    {"", "limits for all tools of the plugin together"},
		"sandbox":   {"", "what the plugin can reach"},
		"tool":      {"", "settings for one tool"},
		"config": {"", "the plugin's own configuration, checked against the schema that it publishes; may be " +
			"written `config = { … }`"},
	},
	"plugin.restart": {
		"max_crashes": {fmt.Sprint(restart.MaxCrashes), "crashes within `window`; one more, and the plugin is quarantined"},
		"window":      {hclfile.Short(restart.Window), "also how long a plugin must run until its crashes are reset"},
		"backoff":     {restart.Backoff.String(), "the wait before the second restart; it doubles from there"},
		"backoff_max": {restart.BackoffMax.String(), "the longest wait"},
	},
	"plugin.limits": limitKeys,
	"plugin.tool": joined(limitKeys, map[string]key{
		"description": {"the plugin's", "replaces the plugin's description"},
		"description_for": {"none",
			"descriptions for single models, by globs such as `\"gemini-*\"`; of those that match the longest counts"},
		"timeout":          {"the tool's own, else `default_timeout`", "for one call"},
		"max_result_bytes": {"the tool's own, else that of the file", "bytes of text that are kept of a result"},
		"aliases":          {"none", "other names that the tool may be called by"},
		"idempotent":       {"`false`", "`true` repeats a call, once, when the plugin died in it"},
	}),
	"plugin.sandbox": {
		"level":   {"`confined`; `supervised` for the plugins that come with toolhost", "the level to reach"},
		"require": {"none", "the lowest level at which the plugin may start"},
		"write": {"the work folder", "files and folders that it may change, from `confined` on; see " +
			"[security.md](security.md#what-a-plugin-can-reach) about links"},
		"read":           {"none", "files and folders that it may read at `isolated`, besides those and what programs need"},
		"network":        {"`false` at `isolated`, else `true`", "whether it may use the network"},
		"new_privileges": {"`false`", "`true` lets programs such as sudo work; at `supervised` only"},
		"host_umask":     {"`true`", "`false` makes new files 0600 and folders 0700"},
		"wrapper": {"none",
			"a command that runs the plugin's, such as bwrap; `{socket_dir}`, `{tmp_dir}` and `{workdir}` stand for its " +
				"folders"},
		"limits": {"", "limits of each process"},
	},
	"plugin.sandbox.limits": {
		"memory":    {"no limit", "private memory; at least 64MiB"},
		"processes": {"no limit", "processes and threads of the user; does not limit root"},
		"files":     {fmt.Sprint(sandbox.DefaultFiles), "open files; at least 16"},
		"file_size": {fmt.Sprintf("%dGiB", sandbox.DefaultFileSize>>30), "size of one file"},
	},
	"plugin_discovery": {
		"command": {"required", "the program and its arguments; it starts in the folder of the file"},
		"timeout": {hclfile.Short(supervise.DiscoveryTimeout), "how long the command may take"},
		"sandbox": {"", "what the command can reach"},
	},
	"policy": {"rule": {"", "a rule; the first that matches gives the layer's effect"}},
	"policy.rule": {
		"tools":       {"all", "patterns of full tool names, such as `\"shell__*\"`"},
		"read_only":   {"any", "the tool's hint"},
		"destructive": {"any", "the tool's hint"},
		"idempotent":  {"any", "the tool's hint"},
		"open_world":  {"any", "the tool's hint"},
		"category":    {"any", "the tool's category"},
		"cost_tier":   {"any", "the tool's cost tier"},
		"callers":     {"all", "patterns of callers"},
		"when":        {"always", "see [policy.md](policy.md)"},
		"effect":      {"required, without `commands`", "what the rule decides"},
		"reason":      {"none", "one line for the model and for people"},
		"match":       {"none", "examples of calls that the rule matches; checked when the file is read"},
		"not_match":   {"none", "examples of calls that it does not match"},
		"commands":    {"", "the effect by shell command"},
	},
	"policy.rule.commands": {
		"allow":     {"none", "beginnings of commands that are allowed, such as `\"git status\"`"},
		"deny":      {"none", "beginnings of commands that are denied"},
		"read_only": {"`false`", "`true` also allows commands that are known to change nothing"},
		"otherwise": {"`ask`", "for commands that are not listed"},
		"argument":  {"`command`", "the argument that holds the command"},
		"allows":    {"none", "examples of commands that are allowed; checked when the file is read"},
		"asks":      {"none", "examples of commands that are asked about"},
		"denies":    {"none", "examples of commands that are denied"},
	},
	"profile": {
		"tools":         {"all", "patterns of full tool names; an empty list is no tool"},
		"exclude":       {"none", "patterns of tools that are left out"},
		"read_only":     {"`false`", "`true` leaves tools that change nothing, and shell commands that only read"},
		"categories":    {"all", "categories of tools"},
		"max_cost_tier": {"no limit", "the most expensive tier of tools"},
		"mode":          {"that of `approval`", "the approval mode"},
		"include":       {"none", "profiles whose tools and rules are added"},
		"rule":          {"", "a rule of the layer `profile`"},
	},
	"root": {
		"path":   {"required", "the folder"},
		"effect": {"`ask`", "what reading there needs"},
	},
	"approval": {
		"mode": {"`ask`", "`auto_edit` does not ask about tools of the category `edit`; `plan` runs only what reads; " +
			"`never_ask` denies what would be asked"},
		"timeout": {"10m", "how long an answer may take"},
		"notify":  {"", "webhooks and commands that are notified of calls waiting at a running host"},
	},
	"approval.notify": {
		"url": {"", "a webhook; `https`, unless it is on this machine"},
		"secret": {"none", "by reference, such as `env.TOOLHOST_HOOK_SECRET`: signs what a webhook gets, in " +
			"`X-Toolhost-Signature`"},
		"command": {"", "program and arguments, never through a shell; it gets one line of JSON on standard input, and 10 " +
			"seconds"},
	},
	"audit": {
		"path": {"`$TOOLHOST_AUDIT`, else `audit.jsonl` in the user's state folder", "the file, which is no link, " +
			"and which no link in the configuration's folder leads out of it"},
		"content": {"`false`", "`true` records arguments and results too, without secrets"},
		"secrets": {"none", "texts of at least 6 bytes that are never recorded"},
	},
}

func joined(all ...map[string]key) map[string]key {
	out := map[string]key{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// TestConfigurationPage compares docs/configuration.md with what reading asks for; go test -update writes it.
func TestConfigurationPage(t *testing.T) {
	seen := asked(t)
	var page strings.Builder
	page.WriteString(strings.ReplaceAll(configurationHead, "~", "`"))
	for _, s := range sections {
		fmt.Fprintf(&page, "\n## %s\n", s.heading)
		if s.text != "" {
			fmt.Fprintf(&page, "\n%s\n", s.text)
		}
		if len(seen[s.block]) > 0 {
			page.WriteString("\n| key | type | default | meaning |\n|---|---|---|---|\n")
		}
		for _, name := range slices.Sorted(maps.Keys(seen[s.block])) {
			k, known := keys[s.block][name]
			if !known {
				t.Errorf("%s %s has no meaning in keys", s.block, name)
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", name, seen[s.block][name], k.standard, k.meaning)
		}
		for name := range keys[s.block] {
			if seen[s.block][name] == "" {
				t.Errorf("%s %s is in keys, and never read", s.block, name)
			}
		}
		delete(seen, s.block)
	}
	if len(seen) > 0 {
		t.Errorf("blocks without a section: %v", seen)
	}
	if *update {
		if err := os.WriteFile(configurationPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(old)); diff != "" {
		t.Errorf("the page is not up to date; run go test ./host/config -update (-want +page)\n%s", diff)
	}
}

// asked returns what reading asks for, by block and name. Blocks that occur in two places must be the same in both.
func asked(t *testing.T) map[string]map[string]string {
	r, err := newReader("config.hcl", []byte(everyBlock))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	r.Asked = func(block, name, form string) {
		if out[block] == nil {
			out[block] = map[string]string{}
		}
		if out[block][name] == "" { // the first one is more precise
			out[block][name] = form
		}
	}
	r.file(r.Parse())
	same := map[string]string{
		"plugin_discovery.sandbox": "plugin.sandbox", "plugin_discovery.sandbox.limits": "plugin.sandbox.limits",
		"profile.rule": "policy.rule", "profile.rule.commands": "policy.rule.commands",
	}
	for copied, of := range same {
		if diff := cmp.Diff(out[of], out[copied]); diff != "" {
			t.Errorf("%s and %s differ:\n%s", of, copied, diff)
		}
		delete(out, copied)
	}
	for block := range out {
		if name := block[strings.LastIndexByte(block, '.')+1:]; name != "" && blockHomes[name] == "" {
			t.Errorf("blockHomes does not say where %s blocks belong", name)
		}
	}
	checkAttributeHomes(t, out)
	return out
}

// checkAttributeHomes compares attributeHomes with the blocks that have the attributes.
func checkAttributeHomes(t *testing.T, blocks map[string]map[string]string) {
	t.Helper()
	for name, home := range attributeHomes {
		found := false
		for block, names := range blocks {
			if names[name] == "" {
				continue
			}
			found = true
			kind := block[strings.LastIndexByte(block, '.')+1:]
			if kind == "" && home != atTop || !strings.Contains(home, kind) {
				t.Errorf("attributeHomes says that %s belongs %s, and not in a %s block", name, home, kind)
			}
		}
		if !found {
			t.Errorf("attributeHomes has %s, which no block has", name)
		}
	}
}

// configurationHead has ~ for a backquote.
const configurationHead = `# Configuration reference

Every block and key of ~config.hcl~. A test of ~host/config~ writes this page from the code that reads the file; do
not edit it.

The file is the one named with ~--config~, else by ~$TOOLHOST_CONFIG~, else ~./config.hcl~, else ~toolhost/config.hcl~
in the user's configuration folder. With none of them, the plugins beside the program and the installed ones are used,
without a project's rules and without a record. Parent folders and ~--workdir~ are not searched. Relative paths start in
the folder of the file. ~toolhost validate~ reports all mistakes with their lines.

Values are strings, numbers, ~true~, ~false~, lists and objects. ~local.NAME~ is a value from a locals block,
~env.NAME~ a variable of the environment, which must be set, and ~env("NAME", "default")~ one that need not be. A
variable that is not set refuses the plugin whose ~command~, ~dir~, ~env~ or ~config~ needs it, and elsewhere the file. A
length of time has a unit: ms, s, m or h. A size has one of KiB, MiB, GiB and TiB. A file may have 64 KiB.
`

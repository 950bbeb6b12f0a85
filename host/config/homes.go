package config

import "maps"

// blockHomes say where each block belongs.
var blockHomes = map[string]string{ //nolint:gosec // "token" is a name
	"approval": atTop, "audit": atTop, "locals": atTop, "plugin": atTop, "plugin_discovery": atTop, "policy": atTop,
	"mcp": atTop, "profile": atTop, "root": atTop, "identity": "in the mcp block", "serve": atTop,
	"telemetry": atTop, "history": atTop, "notify": "in the approval block",
	"token":    "in the serve block",
	"commands": "in a rule block", "config": "in a plugin block", "limits": "in a plugin or a sandbox block",
	"restart": "in a plugin block", "rule": "in a policy or a profile block",
	"sandbox": "in a plugin or a plugin_discovery block",
	"tool":    "in a plugin block",
}

const atTop = "at the top level of config.hcl"

// attributeHomes say where attributes belong that are often written elsewhere.
var attributeHomes = map[string]string{ //nolint:gosec // names of keys
	"plugin_dirs": atTop, "floor": atTop, "lock": atTop, "default_timeout": atTop, "max_concurrency": atTop,
	"error_message_limit": atTop,

	"timeout": "in a tool, an approval or a plugin_discovery block; for all tools: default_timeout at the top level",
	"mode":    "in the approval block or a profile block",
	"effect":  "in a rule or a root block",
	"when":    "in a rule block", "reason": "in a rule block", "match": "in a rule block", "not_match": "in a rule block",
	"callers":     "in a rule block",
	"tools":       "in a rule or a profile block",
	"exclude":     "in a profile block",
	"categories":  "in a profile block",
	"aliases":     "in a tool block",
	"rate":        "in a tool block or the limits block of a plugin",
	"max_calls":   "in a tool block or the limits block of a plugin",
	"concurrency": "in a tool block or the limits block of a plugin",
	"max_crashes": "in a restart block", "backoff": "in a restart block",
	"level": "in a sandbox block", "network": "in a sandbox block", "write": "in a sandbox block",
	"require": "in a sandbox block", "wrapper": "in a sandbox block",
	"memory": "in the limits block of a sandbox", "processes": "in the limits block of a sandbox",
	"sha256": "in a plugin block", "eager": "in a plugin block", "trust_hints": "in a plugin block",
	"start_timeout": "in a plugin block", "may_call": "in a plugin block", "standby": "in a plugin block",
	"address": "in the serve block", "on_demand": "in the serve block",
	"endpoint": "in the telemetry block", "secrets": "in the audit block",
}

// homes are both.
var homes = func() map[string]string {
	all := maps.Clone(blockHomes)
	maps.Copy(all, attributeHomes)
	return all
}()

const (
	asServers = "an MCP server is a plugin block; `toolhost mcp import FILE` prints those of a client's settings"
	asSwitch  = "remove the block, or leave its tools out with exclude in a profile block"
)

// foreignKeys are hints about names that other programs have for the same thing, see hclfile.File.Foreign.
var foreignKeys = map[string]string{
	"mcpServers": asServers, "mcp_servers": asServers, "servers": asServers,
	"plugin.args":        `program and arguments are one list: command = ["PROGRAM", "ARGUMENT"]`,
	"plugin.cwd":         `did you mean "dir"?`,
	"plugin.environment": `did you mean "env"?`,
	"plugin.path":        `did you mean "command"?`,
	"plugin.program":     `did you mean "command"?`,
	"plugin.enabled":     asSwitch,
	"plugin.disabled":    asSwitch,
}

// restHints are added where any other name may be one of a plugin's own.
var restHints = map[string]string{"plugin": "; what the plugin itself takes goes in its config { … }"}

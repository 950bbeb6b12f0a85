// sdk/proto/plugin.proto, by make gen.
export default `// The protocol between a host and a plugin, version 1. docs/protocol.md says what is around it: the handshake, the
// environment, limits. Within v1 changes are additive only: no field, number, type or method that has shipped changes or
// goes, and both ends accept that new ones are absent. Copy this file freely.
//
// JSON travels as bytes, exact. What a tool or a plugin has to say about a failure travels inside the messages; a gRPC
// status other than OK means that the plugin or the transport broke.
syntax = "proto3";

package toolhost.plugin.v1;

option go_package = "github.com/toolhost/toolhost/internal/wire/pluginv1";

service PluginService {
  // Describe tells what the plugin is and which tools it has at this moment.
  rpc Describe(DescribeRequest) returns (DescribeResponse);
  // Configure hands over the plugin's own configuration. It is called once, before the first Call.
  rpc Configure(ConfigureRequest) returns (ConfigureResponse);
  // Preview tells what a call would do, without doing it.
  rpc Preview(PreviewRequest) returns (PreviewResponse);
  // Call runs one tool: started, then any number of other events, then exactly one result.
  // Cancellation and deadline are gRPC's own.
  rpc Call(CallRequest) returns (stream CallEvent);
  // Watch stays open while the plugin runs and tells when the list of tools has changed.
  rpc Watch(WatchRequest) returns (stream WatchEvent);
  // Overdue counts the handlers that still run though the context of their call or preview has ended: a stream that ends tells
  // the host nothing about that. It may be left unimplemented.
  rpc Overdue(OverdueRequest) returns (OverdueResponse);
  // Reply answers a HostRequest. It returns at once, also when the plugin waits for it no longer. A plugin that sends no such
  // requests leaves it unimplemented.
  rpc Reply(ReplyRequest) returns (ReplyResponse);
}

message DescribeRequest {
  // The host answers HostRequests. Without it a plugin sends none.
  bool replies = 1;
}

message DescribeResponse {
  string name = 1;
  string version = 2;
  // The author kit that the plugin was made with, such as "go/0.1.0".
  string sdk = 3;
  repeated Tool tools = 4;
  // JSON Schema of the configuration; empty: the plugin takes none.
  bytes config_schema = 5;
  // The list of tools depends on the configuration or changes while running: describe again after Configure.
  bool dynamic = 6;
  // What the operator should know: a discovery that failed, a tool that was left out and why.
  repeated string notices = 7;
  // A dynamic plugin's list of tools may be shown until the plugin is needed, also after it has ended: the host keeps it and hands
  // it over with the next Configure.
  bool cacheable = 8;
  // The plugin accepts sessions, which make small calls cheaper: connections to its socket that carry SessionRequest and
  // SessionEvent, each behind its length, and no gRPC. docs/protocol.md has the details.
  bool sessions = 9;
  // Why tools are missing from the list, such as a server that cannot be reached; empty when none are. A call of a tool that is
  // not in the list fails with it.
  string missing = 10;
  // The missing tools are expected soon: a call of one waits for them. Watch reports when they are there, or no longer expected.
  bool pending = 11;
  // A note of a cacheable plugin to itself, which the host keeps with the list of tools and hands over with the next Configure; at
  // most 4 KiB.
  string memory = 12;
  // The kind of each notice, in their order: "problem" when tools are missing or old, such as those of a server that does not
  // answer, else "remark". A notice without a kind, or with an unknown one, is a remark.
  repeated string notice_kinds = 13;
}

message Tool {
  string name = 1;
  string title = 2;
  string description = 3;
  bytes input_schema = 4;
  bytes output_schema = 5;
  Hints hints = 6;
  string category = 7;
  // "free", "cheap", "expensive" or "".
  string cost_tier = 8;
  // Zero: the host's default.
  int64 timeout_ms = 9;
  // Zero: the host's default.
  int64 max_result_bytes = 10;
  // The name where the tool comes from, when it had to be made to fit.
  string original_name = 11;
  // Preview works for this tool.
  bool previews = 12;
  // The tool works with what other calls left in the plugin's process, such as jobs or a history. A host that makes one call
  // and ends does not offer it, and refuses its calls.
  bool stateful = 13;
  // The input schema was written for clients of another kind. A host checks the formats that it names, and offers the tool
  // also where it cannot use a part of the schema, which is then not checked.
  bool foreign_schema = 15;
  // The tool keeps to leave_out and roots of a call.
  bool path_aware = 14;
  // A JSON object: members of the definition at its source that no other field has, such as icons and _meta of an MCP server.
  bytes extra = 16;
  // The hints are those of a third party for which the plugin does not vouch. A host believes them only where its operator
  // says so.
  bool foreign_hints = 17;
  // The text of each result is the JSON of its structured data and says no more. MCP clients get the output schemas of such
  // tools, and structured data only where this is so: some of them give a model no text beside it.
  bool text_is_json = 18;
}

message Hints {
  optional bool read_only = 1;
  optional bool destructive = 2;
  optional bool idempotent = 3;
  optional bool open_world = 4;
}

message ConfigureRequest {
  bytes config = 1;
  string workdir = 2;
  // The cacheable list of tools that the plugin reported when it last ran with this configuration.
  repeated Tool known_tools = 3;
  // The memory that came with that list.
  string memory = 4;
}

message ConfigureResponse {
  Error error = 1;
}

message PreviewRequest {
  string call_id = 1;
  string tool = 2;
  bytes arguments = 3;
  string workdir = 4;
  string session_id = 5;
  // As in CallRequest.
  bool single_call = 6;
}

message PreviewResponse {
  repeated Content content = 1;
  // "", "allow", "ask", "always_ask" or "deny"; it can only make the host's decision stricter.
  string effect = 2;
  string reason = 3;
  Error error = 4;
  // The same as a JSON object with a "kind", for programs; empty when there is none.
  bytes structured = 5;
  // The effect does not hold where a rule of the operator allows the call.
  bool unless_allowed = 6;
}

message CallRequest {
  // For logs and results. It may come again: the host's caller chooses it.
  string call_id = 1;
  string tool = 2;
  bytes arguments = 3;
  string workdir = 4;
  string session_id = 5;
  // 1 for the first try. The second has the ids of the first, and goes to another process of the plugin.
  int32 attempt = 6;
  // Unique within a host; if empty, call_id is used. A transport may deliver one call twice: gRPC resends a call that
  // it considers unprocessed, even with retries disabled. A plugin must not run it again. The Go kit ends a repeat with
  // the status ALREADY_EXISTS, while the first runs and until 4096 more calls have ended; a kit that does not detect
  // repeated ids runs such a call twice.
  string run_id = 7;
  // The host ends after this call, and the plugin with it. A call that would leave something running, or state for a later
  // call that the caller counts on, is to be refused with the reason: it could not keep what it promises.
  bool single_call = 8;
  // For tools that are path_aware. Files and folders that the call must not show, nor what is in them: relative to the work
  // folder, or absolute, with slashes.
  repeated bytes leave_out = 9;
  // Absolute folders outside of the work folder in which this call may read.
  repeated bytes roots = 10;
  // Answers to the questions of an earlier result of this call (InputRequired), JSON objects by the keys of the questions.
  map<string, bytes> input_responses = 11;
  // The state of that result, unchanged.
  bytes request_state = 12;
  // What the caller can answer, as MCP's client capabilities: a JSON object. Empty: the caller answers no questions.
  bytes capabilities = 13;
  // The caller's _meta, for tools that pass it on: a JSON object, such as {"traceparent": …}.
  bytes meta = 14;
  // Bytes that the large parts of the result may have together. The host writes them to files, so it takes more of them than
  // of a result in memory; 0: the result has none.
  int64 max_large_bytes = 15;
  // The span that the work of this call belongs to, as the headers of W3C Trace Context; empty outside of a trace.
  string trace_parent = 16;
  string trace_state = 17;
  // The call is made beside the questions of a suspended call (InputRequired), with its state and no answers. It ends with
  // the result of that call, if that comes without answers, or with its questions, if others are open by now. When it is
  // canceled, so is the suspended call: no answers will come. When these come, it ends with any result.
  bool during_questions = 18;
}

message SessionRequest {
  // New for each call of the stream.
  uint64 id = 1;
  oneof request {
    CallRequest call = 2;
    Cancel cancel = 3;
  }
  // How long the call may take, in microseconds; 0 is without a limit.
  int64 timeout_us = 4;
}

// Cancel says that the caller has given up: the context of the call's handler ends.
message Cancel {}

message SessionEvent {
  uint64 id = 1;
  // Those that follow on the call's last, in their order.
  repeated CallEvent events = 2;
  // Ends the call without a result, as a status other than OK ends a stream of Call.
  Status status = 3;
}

// Status is one of gRPC.
message Status {
  int32 code = 1;
  string message = 2;
}

message CallEvent {
  oneof event {
    Started started = 1;
    Progress progress = 2;
    Log log = 3;
    Output output = 4;
    Part part = 5;
    More more = 6;
    Result result = 7;
    HostRequest request = 8;
  }
}

// HostRequest asks the host for something while the call runs. The host answers each with Reply; the end of the call ends its
// requests.
message HostRequest {
  // New in the plugin's process.
  uint64 id = 1;
  oneof request {
    ToolCall call = 2;
    // The request with this id is not wanted any more. It may be answered nevertheless.
    Cancel cancel = 3;
  }
}

// ToolCall calls a tool of any plugin, on behalf of the call that runs. The host checks, decides and records it as any call.
message ToolCall {
  // The full name, PLUGIN__TOOL.
  string tool = 1;
  // A JSON object.
  bytes arguments = 2;
}

message ReplyRequest {
  // That of the HostRequest.
  uint64 id = 1;
  // Of a ToolCall; a refusal is a result with an error.
  Result result = 2;
}

message ReplyResponse {}

// Started says that the plugin has the call.
message Started {}

message Progress {
  double done = 1;
  // Zero: not known.
  double total = 2;
  string message = 3;
}

message Log {
  // "debug", "info", "warn" or "error".
  string level = 1;
  string message = 2;
  // A JSON object.
  bytes attributes = 3;
}

// Output is what a running call prints, as it comes. It is for people who watch; the result stands by itself.
message Output {
  // "stdout" or "stderr".
  string stream = 1;
  bytes data = 2;
}

// Part begins one content part of the result, sent ahead because it is large.
message Part {
  // One of text and data may hold only its first piece: text if it is not empty or the type is "text", else data.
  Content content = 1;
  // Total bytes of text and data. The call fails if a different number arrives.
  int64 size = 2;
  // The part counts against max_large_bytes, and not against the limit of a result. For parts of more than a MiB of results
  // over the limit, of calls with max_large_bytes.
  bool large = 3;
}

// More continues the last Part, until that has its size.
message More {
  bytes data = 1;
}

// Result ends the call. Its content follows the parts sent ahead.
message Result {
  repeated Content content = 1;
  bytes structured = 2;
  Error error = 3;
  bool truncated = 4;
  // A JSON object: members of the result at its source that no other field has, such as _meta.
  bytes extra = 5;
  // The call has questions before it can go on; content, structured and error are empty then.
  InputRequired input_required = 6;
}

// InputRequired ends a call that has questions. The call is made again with the answers and the state.
message InputRequired {
  // The questions, as MCP's input requests: JSON objects such as {"method": "elicitation/create", "params": {…}}, by keys
  // that the answers have too.
  map<string, bytes> requests = 1;
  // For the plugin alone.
  bytes state = 2;
  // The call is suspended in the plugin: a host should make a call with during_questions while it asks. There may then be
  // no questions, for a call that goes on without answers: it is made again at once.
  bool suspended = 3;
}

message Content {
  // "text", "image", "audio", "resource", "resource_link", or any other kind, whose JSON is in raw.
  string type = 1;
  bytes text = 2;
  bytes data = 3;
  string mime_type = 4;
  string uri = 5;
  string name = 6;
  // A JSON object, for kinds not known to this version.
  bytes raw = 7;
  // A JSON object: members of the part that no other field has, such as annotations and _meta. Member "resource" holds those
  // of the object in a resource.
  bytes extra = 8;
  // The part as a JSON object, as its source wrote it, where that is not the usual form: the host passes on the order
  // of its members and the escapes of its strings. It takes precedence over the other fields, except text and data,
  // which take the place of its empty strings; a text whose escapes are not the usual ones is in source alone.
  bytes source = 9;
}

message Error {
  string code = 1;
  string name = 2;
  string message = 3;
  string suggestion = 4;
  string help_url = 5;
  bool retryable = 6;
  // A JSON object.
  bytes details = 7;
  // The tool cannot tell whether it has done its work, or a part.
  bool outcome_unknown = 8;
  // In a Reply: "not_sent", "failed" or "outcome_unknown".
  string outcome = 9;
}

message WatchRequest {}

message WatchEvent {
  oneof event {
    ToolsChanged tools_changed = 1;
  }
}

message ToolsChanged {}

message OverdueRequest {
  // How long ago the context of a handler must have ended for it to count as late.
  int64 grace_ms = 1;
}

message OverdueResponse {
  // Handlers that have not returned, and whose context has ended.
  int64 handlers = 1;
  // Those of them that are late.
  int64 late = 2;
}
`;

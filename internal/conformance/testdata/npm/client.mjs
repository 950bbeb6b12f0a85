// Uses a toolhost through the official TypeScript client, and writes what came of it to standard output, as JSON.
// Usage: node client.mjs INSTALLED v1|v2 legacy|modern URL|COMMAND...
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [installed, generation, era, ...target] = process.argv.slice(2)
const load = (...path) =>
  import(pathToFileURL(join(installed, 'node_modules', '@modelcontextprotocol', ...path)).href)

async function parts() {
  if (generation === 'v1') {
    const types = await load('sdk', 'dist', 'esm', 'types.js')
    return {
      ...(await load('sdk', 'dist', 'esm', 'client', 'index.js')),
      ...(await load('sdk', 'dist', 'esm', 'client', 'stdio.js')),
      ...(await load('sdk', 'dist', 'esm', 'client', 'streamableHttp.js')),
      elicitation: types.ElicitRequestSchema,
      sampling: types.CreateMessageRequestSchema,
      logging: types.LoggingMessageNotificationSchema,
      options: undefined, // the schema of results, which v2 does without
      named: false
    }
  }
  return {
    ...(await load('client', 'dist', 'index.mjs')),
    ...(await load('client', 'dist', 'stdio.mjs')),
    elicitation: 'elicitation/create',
    sampling: 'sampling/createMessage',
    logging: 'notifications/message',
    named: true
  }
}

const sdk = await parts()
const outcome = { asked: [], progress: [], logged: 0 }

let changed
const listChanged = new Promise((resolve) => (changed = resolve))
const client = new sdk.Client(
  { name: 'typescript', version: '1.0.0' },
  {
    capabilities: { elicitation: {}, sampling: {} },
    versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    listChanged: { tools: { debounceMs: 0, onChanged: (error, tools) => changed(error ?? tools.map((t) => t.name)) } }
  }
)
client.setRequestHandler(sdk.elicitation, async (request) => {
  outcome.asked.push(request.params.message)
  return { action: 'accept', content: { username: 'ada', email: 'ada@example.org' } }
})
client.setRequestHandler(sdk.sampling, async () => {
  outcome.asked.push('sampling')
  return { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'test', stopReason: 'endTurn' }
})
client.setNotificationHandler(sdk.logging, () => {
  outcome.logged++
})
const call = (name, args, options) =>
  sdk.named
    ? client.callTool({ name, arguments: args }, options)
    : client.callTool({ name, arguments: args }, undefined, options)

await client.connect(
  target[0].startsWith('http')
    ? new sdk.StreamableHTTPClientTransport(new URL(target[0]))
    : new sdk.StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env, stderr: 'inherit' })
)
outcome.version = client.getNegotiatedProtocolVersion?.() ?? era
outcome.tools = (await client.listTools()).tools.map((t) => t.name)
outcome.wrong = []
for (const name of outcome.tools.filter((n) => n.startsWith('refused_result_'))) {
  outcome.wrong.push(await call(name, {}).then((r) => JSON.stringify(r), (e) => `throws ${e}`))
}
outcome.text = await call('test_simple_text', {})
outcome.odd = await call('odd_result', {}).catch((e) => String(e)) // clients may refuse kinds that they do not know
outcome.failure = await call('test_error_handling', {})
outcome.refused = await call('test_elicitation', { message: 5 }).catch((e) => String(e))
await call('test_tool_with_progress', {}, { onprogress: (p) => outcome.progress.push(p.progress) })
outcome.elicited = await call('test_elicitation', { message: 'Who are you?' })
outcome.sampled = await call('test_sampling', { prompt: 'What is the capital of France?' })
const stop = new AbortController()
outcome.canceled = await call('wait', { seconds: 3000 }, { signal: stop.signal, onprogress: () => stop.abort() }).then(
  (r) => r,
  () => 'canceled'
)
await call('test_trigger_tool_change', {})
outcome.changed = await listChanged
outcome.added = await call('added_1', {})
await client.close()
console.log(JSON.stringify(outcome))
process.exit(0)

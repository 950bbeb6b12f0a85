// Has the MCP client of Gemini CLI's core, with no model and no network, list and call the tools of a toolhost.
// Usage: node gemini.mjs INSTALLED OUTCOME URL|COMMAND...
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [installed, file, ...target] = process.argv.slice(2)
const core = await import(
  pathToFileURL(join(installed, 'node_modules/@google/gemini-cli-core/dist/index.js')).href
)
const log = (...words) => process.stderr.write(words.join(' ') + '\n')
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = log

const server = target[0].startsWith('http')
  ? { url: target[0], type: 'http', trust: true }
  : { command: target[0], args: target.slice(1), trust: true }
const config = new core.Config({
  sessionId: 'session', targetDir: process.cwd(), cwd: process.cwd(), model: 'gemini-2.5-pro', debugMode: false,
  interactive: false, trustedFolder: true, usageStatisticsEnabled: false, telemetry: { enabled: false },
  checkpointing: false, enableHooks: false, skillsSupport: false, useRipgrep: false, mcpServers: { toolhost: server },
  policyEngineConfig: await core.createPolicyEngineConfig({}, core.ApprovalMode.YOLO, undefined, false)
})
await config.initialize()
const tools = config.getToolRegistry().getAllTools().filter((t) => t instanceof core.DiscoveredMCPTool)
const call = async (name, args) => {
  const tool = tools.find((t) => t.serverToolName === name)
  if (!tool) return `no tool ${name}`
  const result = await tool.buildAndExecute(args, AbortSignal.timeout(60_000))
  return { shown: result.returnDisplay, model: result.llmContent, error: result.error?.message }
}
writeFileSync(file, JSON.stringify({
  tools: tools.map((t) => ({ name: t.name, own: t.serverToolName, schema: t.schema.parametersJsonSchema })),
  text: await call('fixture__echo', { message: 'hi' }),
  image: await call('fixture__test_image_content', {}),
  failure: await call('fixture__test_error_handling', {})
}))
process.exit(0)

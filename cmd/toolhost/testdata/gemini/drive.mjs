// Drives Gemini CLI's own core, with no model and no network: its Config discovers tools by a command, its Scheduler validates
// calls, asks its policy, and runs them. Standard input is a list of jobs as JSON, the last argument the file for the outcome.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [installed, outcome] = process.argv.slice(2);
const core = await import(pathToFileURL(join(installed, 'node_modules/@google/gemini-cli-core/dist/index.js')).href);
const log = (...words) => process.stderr.write(words.join(' ') + '\n');
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = log;

// job: { dir, discovery, call, env, unset, answer, calls: [{ tool, args }] }
async function run(job, number) {
  process.chdir(job.dir);
  for (const name of job.unset ?? []) delete process.env[name];
  Object.assign(process.env, job.env ?? {});
  const config = new core.Config({
    sessionId: `session-${number}`, targetDir: job.dir, cwd: job.dir, model: 'gemini-2.5-pro', debugMode: false, interactive: true, trustedFolder: true,
    toolDiscoveryCommand: job.discovery, toolCallCommand: job.call, usageStatisticsEnabled: false, telemetry: { enabled: false },
    checkpointing: false, enableHooks: false, skillsSupport: false, useRipgrep: false,
    policyEngineConfig: await core.createPolicyEngineConfig({}, core.ApprovalMode.DEFAULT, undefined, true),
  });
  try {
    await config.initialize();
  } catch (e) {
    return { error: String(e), tools: [], calls: [] };
  }
  const bus = config.messageBus;
  const asked = new Set();
  bus.subscribe(core.MessageBusType.TOOL_CALLS_UPDATE, (message) => {
    for (const c of message.toolCalls) {
      if (c.status !== 'awaiting_approval' || asked.has(c.correlationId)) continue;
      asked.add(c.correlationId);
      setImmediate(() => bus.publish({ type: core.MessageBusType.TOOL_CONFIRMATION_RESPONSE, correlationId: c.correlationId,
        confirmed: job.answer !== 'cancel', outcome: job.answer ?? core.ToolConfirmationOutcome.ProceedOnce }));
    }
  });
  const scheduler = new core.Scheduler({ context: config, messageBus: bus, getPreferredEditor: () => undefined, schedulerId: core.ROOT_SCHEDULER_ID });
  const prefix = 'discovered_tool_';
  const tools = config.getToolRegistry().getAllTools().filter((t) => t.name.startsWith(prefix))
    .map((t) => ({ name: t.name.slice(prefix.length), description: t.description, schema: t.schema.parametersJsonSchema }));
  const calls = [];
  for (const [i, c] of (job.calls ?? []).entries()) {
    const before = asked.size;
    const [done] = await scheduler.schedule([{ callId: `call-${number}-${i}`, name: prefix + c.tool, args: c.args, isClientInitiated: false, prompt_id: 'p' }],
      AbortSignal.timeout(60_000));
    calls.push({ tool: c.tool, status: done.status, asked: asked.size - before, type: done.response.errorType ?? '',
      text: String(done.response.resultDisplay ?? done.response.error?.message ?? '') });
  }
  return { error: '', tools, calls };
}

const out = [];
for (const [i, job] of JSON.parse(readFileSync(0, 'utf8')).entries()) out.push(await run(job, i));
writeFileSync(outcome, JSON.stringify(out));
process.exit(0);

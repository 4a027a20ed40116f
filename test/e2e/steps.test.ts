import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startServices } from '../support/services.js';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

const SCRIPT = `#!/bin/sh
cat > "$BATON_WORKSPACE/../../envelope.json"
`;

/** A skill that returns its inputs, and a program that writes its input to a file. */
async function project(dir: string): Promise<void> {
  const skill = join(dir, '.baton/capabilities/skill/echo');
  await mkdir(skill, { recursive: true });
  await writeFile(
    join(skill, 'capability.yaml'),
    'name: echo\ntype: skill\ninputs: [{ name: file, type: string, required: true }]\n',
  );
  await writeFile(join(skill, 'run.sh'), 'cat\n');
  await writeFile(join(dir, 'journal.sh'), SCRIPT);
  await chmod(join(dir, 'journal.sh'), 0o755);
}

const transcriptOf = async (daemon: TestDaemon): Promise<{ kind: string; data: never }[]> => {
  const runId = daemon.logLines.find(({ msg }) => msg === 'run ended')?.run_id;
  const text = await readFile(join(daemon.stateDir, 'transcripts', `${runId}.jsonl`), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
};

const ended = (daemon: TestDaemon, count = 1) =>
  daemon.until(
    `the end of ${count} runs`,
    (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === count,
  );

const messages = (daemon: TestDaemon) => daemon.logLines.map(({ msg }) => msg);

describe('a workflow with steps', () => {
  test('of all kinds and shapes runs end to end, with real processes and real HTTP', async () => {
    const services = await startServices();
    const daemon = await testDaemon({
      env: { RUNNER_TOKEN: 'canary-token-12345' },
      before: project,
      body: 'Work on {{ issue.identifier }} by this plan: {{ steps.plan.output.output }}',
      settings: `
codex: { command: "${agentCommand('obedient')}" }
inputs: { topic: "\${issue.title}" }
services:
  defaults: { tenant: "4711", token: $RUNNER_TOKEN }
  gateway: { base_url: "${services.url}" }
  tools: { base_url: "${services.url}" }
  sandbox: { base_url: "${services.url}" }
  agents: { base_url: "${services.url}", poll_interval_ms: 10 }
executors:
  journal: { command: ./journal.sh, timeout_seconds: 20 }
activities:
  quick-note: { kind: external, executor: journal }
steps:
  - { id: plan, kind: llm, model: small, prompt: "\${inputs.topic}", output_to: plan, retry: { max_attempts: 2 } }
  - id: both
    parallel:
      - { id: owners, kind: tool, tool: owners, args: { labels: "\${issue.labels}" }, idempotency_key: "\${issue.id}:owners" }
      - { id: check, kind: code, language: python, source: "print(1)", stdin: "\${state.plan.output}" }
  - id: each
    fan_out: { items: "\${steps.owners.output.files}", steps: [{ id: one, kind: capability, type: skill, name: echo, params: { file: "\${item}" }, timeout_s: 30 }] }
    fan_in: {}
  - { id: work, kind: agent, backend: cli }
  - id: review
    loop:
      max_iterations: 3
      break_when: "\${steps.critic.output.stop_reason} == 'approved'"
      steps:
        - { id: critic, kind: agent, backend: http, agent: critic, session: rev, input: { said: "\${steps.work.output.last_message}" } }
  - { id: never, kind: external, executor: journal, when: "\${steps.check.output.exit_code} != 0" }
  - id: note
    target: activity:quick-note
    input:
      task_id: "\${issue.id}"
      each: "\${steps.each.output}"
      check: "\${steps.check.output.stdout}"
      rounds: "\${steps.review.output}"
      never: "\${steps.never.output}"
`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Tidy up $(touch x)', labels: ['a'] });

    await ended(daemon);
    await daemon.stop();

    const envelope = JSON.parse(await readFile(join(daemon.dir, 'envelope.json'), 'utf8'));
    expect(envelope).toMatchObject({
      schemaVersion: 1,
      input: {
        task_id: '1',
        each: [expect.objectContaining({ file: 'a.ts' }), expect.objectContaining({ file: 'b.ts' })],
        check: 'ran print(1) on plan for Tidy up $(touch x)',
        rounds: { iterations: 1, broke: true },
        never: null,
      },
      task: { title: 'Tidy up $(touch x)' },
    });
    const turn = await readFile(join(daemon.workspaces, 'AB-1', 'received.jsonl'), 'utf8');
    expect(turn).toContain('Work on AB-1 by this plan: plan for Tidy up $(touch x)');
    expect(daemon.logLines.find(({ msg }) => msg === 'run ended')).toMatchObject({ outcome: 'success' });
    expect(services.calls.map(({ headers }) => headers['x-koder-tenant'])).toEqual(services.calls.map(() => '4711'));
    expect(services.calls.at(-1)).toMatchObject({ method: 'DELETE', path: '/v1/sandbox/sessions/session-1' });
    expect(JSON.stringify(daemon.logLines)).not.toContain('canary-token');
    const transcript = await transcriptOf(daemon);
    expect(JSON.stringify(transcript)).not.toContain('canary-token');
    expect(transcript.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['plan', 'step_started', 'step_finished', 'prompt']),
    );
  });

  test('S1-11 the log names the resolved backend and its source before anything runs', async () => {
    const services = await startServices();
    const daemon = await testDaemon({
      env: { RUNNER_TOKEN: 'canary-token-12345', BATON_BACKEND: 'http' },
      settings: `
services: { defaults: { tenant: t, token: $RUNNER_TOKEN }, agents: { base_url: "${services.url}", poll_interval_ms: 5 } }
steps: [{ id: a, kind: agent, backend: auto, agent: critic }]`,
    });

    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({ msg: 'steps of the workflow', backend: 'http', source: 'BATON_BACKEND', steps: 1 }),
    );
  });

  test('an interrupted run starts again at the first step', async () => {
    const daemon = await testDaemon({
      before: project,
      settings: `
executors:
  first: { command: sh, args: [-c, 'cat > /dev/null; echo first >> ../../order'] }
  second: { command: sh, args: [-c, 'cat > /dev/null; echo second >> ../../order; [ -e ../../go ] || exec sleep 1000'] }
steps: [{ id: a, kind: external, executor: first }, { id: b, kind: external, executor: second, timeout_s: 500 }]`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    const order = () => readFile(join(daemon.dir, 'order'), 'utf8').catch(() => '');
    await expect.poll(order, { timeout: 10_000 }).toBe('first\nsecond\n');

    await daemon.stop();

    expect(daemon.logLines).toContainEqual(expect.objectContaining({ msg: 'run ended', code: 'INTERRUPTED' }));
    expect(daemon.state.claims['1']).toMatchObject({ failures: 0, status: { kind: 'waiting', reason: 'resumed' } });
  });

  test('a silent step is ended by the stall limit only when it has no timeout of its own', async () => {
    const quiet = `{ command: sh, args: [-c, 'cat > /dev/null; exec sleep 1.5'] }`;
    const settings = (limit: string) => `
codex: { stall_timeout_ms: 400 }
executors: { quiet: ${quiet} }
steps: [{ id: a, kind: external, executor: quiet${limit} }]`;
    const [unbounded, bounded] = await Promise.all([
      testDaemon({ settings: settings('') }),
      testDaemon({ settings: settings(', timeout_s: 60') }),
    ]);
    for (const daemon of [unbounded, bounded]) daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await Promise.all([ended(unbounded), ended(bounded)]);

    expect(unbounded.state.claims['1']?.status).toMatchObject({ error: { code: 'stall_timeout' } });
    expect(bounded.logLines).toContainEqual(expect.objectContaining({ msg: 'run ended', outcome: 'success' }));
  });

  test('a step requirement that disappeared after the load holds the daemon, counts no attempt, and the run continues when it is back', async () => {
    const daemon = await testDaemon({
      before: project,
      settings: `agent: { max_retry_backoff_ms: 300 }\nsteps: [{ id: a, kind: capability, type: skill, name: echo, params: { file: x }, timeout_s: 30 }]`,
    });
    const [here, away] = [join(daemon.dir, '.baton'), join(daemon.dir, 'away')];
    await rename(here, away);
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a hold', (state) => state.holds.workflow?.code === 'CAPABILITY_NOT_FOUND');
    expect(daemon.state.claims['1']).toMatchObject({ failures: 0 });
    expect(messages(daemon)).not.toContain('step started');

    await rename(away, here);
    await daemon.until('no hold', (state) => state.holds.workflow === undefined);

    expect(messages(daemon)).toContain('step finished');
  });

  test('a definition of an executor that became invalid after the load holds the daemon and counts no attempt', async () => {
    const definition = 'name: mine\nsupportedTypes: [review]\n';
    const write = async (dir: string, text: string) => {
      const folder = join(dir, '.baton/capabilities/executors/mine');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'executor.yaml'), text);
    };
    const daemon = await testDaemon({
      before: async (dir) => {
        await write(dir, definition);
        const folder = join(dir, '.baton/capabilities/review/it');
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, 'capability.yaml'), 'name: it\ntype: review\n');
      },
      settings: 'steps: [{ id: a, kind: capability, type: review, name: it }]',
    });
    await write(daemon.dir, 'name: [');

    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a hold', (state) => state.holds.workflow?.code === 'INVALID_ACTION_BLOCK');

    expect(daemon.state.claims['1']).toMatchObject({ failures: 0 });
  });
});

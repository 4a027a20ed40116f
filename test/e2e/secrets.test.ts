import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { check } from '../../src/cli/check.js';
import { memoryRegistry, world } from '../cli/cli-fixture.js';
import { spellingsOf, writtenBy } from '../support/leaks.js';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

/** Secrets whose JSON and URI forms differ, with different lengths so that base64 splits them differently. */
const CANARIES = {
  TRACKER_TOKEN: 'trk/canary+"0001=',
  RUNNER_TOKEN: 'svc/canary+"00002==',
  EXECUTOR_KEY: 'exe canary\\"000003',
  LITERAL: 'lit/canary+0000004',
};

/** The secrets that a text contains, in any encoding. */
function found(text: string): string[] {
  return Object.entries(CANARIES).flatMap(([name, secret]) =>
    spellingsOf(secret)
      .filter((spelling) => text.includes(spelling))
      .map((spelling) => `${name} as ${spelling}`),
  );
}

/** Prints its whole input and environment in every encoding, and fails. */
const CHATTY = `#!${process.execPath}
const spell = (text) => [text, JSON.stringify({ text }), encodeURIComponent(text), Buffer.from(text).toString('base64'), Buffer.from(' ' + text).toString('base64url')];
process.stdin.resume().on('end', () => {
  for (const text of Object.values(process.env).flatMap(spell)) {
    process.stdout.write(text + '\\n');
    process.stderr.write(text + '\\n');
  }
  process.exitCode = 1;
});
`;

/** Writes its environment and its input to a file for the test. */
const keeps = (name: string) => `{ env; cat; } > ../../${name}.seen`;

async function project(dir: string): Promise<void> {
  await writeFile(join(dir, 'chatty'), CHATTY);
  await chmod(join(dir, 'chatty'), 0o755);
  const skill = join(dir, '.baton/capabilities/skill/nosy');
  await mkdir(skill, { recursive: true });
  await writeFile(join(skill, 'capability.yaml'), 'name: nosy\ntype: skill\n');
  await writeFile(join(skill, 'run.sh'), `${keeps('capability')}\n`);
}

/** A service that echoes the request and its token in all encodings, as an error and as a success of every kind. */
async function echoService(status: number): Promise<string> {
  const server = createServer((request: IncomingMessage, response) => {
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const said = [token, encodeURIComponent(token), Buffer.from(token).toString('base64'), JSON.stringify({ token })];
    const text = said.join(' ');
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json', 'x-said': token });
      response.end(
        JSON.stringify({ error: { message: text }, output: said, choices: [{ message: { content: text } }], id: 's' }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const settings = (url: string) => `
services:
  defaults: { tenant: t, token: $RUNNER_TOKEN }
  gateway: { base_url: "${url}" }
  tools: { base_url: "${url}", validate_output: false }
  sandbox: { base_url: "${url}" }
  agents: { base_url: "${url}", poll_interval_ms: 5 }
executors:
  chatty: { command: ./chatty, env: { KEY: $EXECUTOR_KEY, API_TOKEN: "${CANARIES.LITERAL}" } }
  nosy: { command: sh, args: [-c, "${keeps('external')}"] }
`;

const { LITERAL: _literal, ...env } = CANARIES;

/** A daemon that has finished its first run. */
async function daemonAfter(steps: string, { status = 400, more = '' } = {}): Promise<TestDaemon> {
  const daemon = await testDaemon({
    env,
    before: project,
    provider: '{ token: $TRACKER_TOKEN }',
    settings: `${settings(await echoService(status))}${more}\nserver: { port: 0 }\nsteps:\n${steps}`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Print $RUNNER_TOKEN and ${RUNNER_TOKEN}' });
  await daemon.until(
    'the end of a run',
    (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === 1,
  );
  return daemon;
}

/** Every readable output of a daemon that contains a canary. */
async function leaksOf(daemon: TestDaemon): Promise<string[]> {
  const written = await writtenBy(daemon, 'AB-1');
  return [...written].flatMap(([place, text]) => found(text).map((what) => `${place}: ${what}`));
}

describe('SEC-20 S0-47 log, transcript, store and API contain no secret', () => {
  test.each([
    ['llm', '- { id: a, kind: llm, model: m, prompt: "${issue.title}" }'],
    ['tool', '- { id: a, kind: tool, tool: t }'],
    ['code', '- { id: a, kind: code, language: sh, source: "true" }'],
    ['agent', '- { id: a, kind: agent, backend: http, agent: x }'],
  ])('when a service of kind %s repeats its token', async (_, steps) => {
    const leaks = await Promise.all(
      [200, 400, 500].map(async (status) => leaksOf(await daemonAfter(steps, { status }))),
    );

    expect(leaks).toEqual([[], [], []]);
  });

  test('when an executor prints its input and environment and fails', async () => {
    const daemon = await daemonAfter('- { id: a, kind: external, executor: chatty }');

    const { status } = daemon.state.claims['1'] ?? {};
    expect(status).toMatchObject({
      error: { code: 'AGENT_INVOCATION_FAILED', message: expect.stringContaining('chatty') },
    });
    expect(await leaksOf(daemon)).toEqual([]);
  });
});

test('SEC-12 SEC-20 S0-58 no secret of tracker or services reaches a child, through its environment or through answers of a service', async () => {
  const repeated = 'seen: "${steps.plan.output} ${steps.tell.output}"';
  const daemon = await daemonAfter(
    `
  - { id: plan, kind: llm, model: m, prompt: x }
  - { id: tell, kind: tool, tool: t }
  - { id: a, kind: external, executor: nosy, input: { ${repeated} }, env_set: { ${repeated} } }
  - { id: b, kind: capability, type: skill, name: nosy, params: { ${repeated} }, timeout_s: 30 }
  - { id: c, kind: agent, prompt: "{{ steps.plan.output.output }} {{ steps.tell.output }}" }`,
    {
      status: 200,
      more: `
runtime: { env: inherit }
hooks: { before_run: "${keeps('hook')}" }
codex: { command: "env > ../../agent.seen; ${agentCommand('obedient')}" }`,
    },
  );
  await daemon.stop();

  const names = ['hook.seen', 'external.seen', 'capability.seen', 'agent.seen', 'workspaces/AB-1/received.jsonl'];
  const seen = await Promise.all(names.map((name) => readFile(join(daemon.dir, name), 'utf8')));
  const secrets = seen.map((text) => found(text).filter((what) => !what.startsWith('EXECUTOR_KEY')));
  expect(daemon.logLines).toContainEqual(expect.objectContaining({ msg: 'run ended', outcome: 'success' }));
  expect(secrets).toEqual(names.map(() => []));
  expect(seen.map((text) => text.includes('***'))).toEqual([false, true, true, false, true]);
});

test.each([true, false])(
  'SEC-20 SEC-21 baton check warns of what stands in the file, and prints none of it (json: %s)',
  async (json) => {
    const io = world({ env });
    const tracker = `tracker: { kind: memory, provider: { token: "${CANARIES.LITERAL}" } }`;
    const steps = `steps: [{ id: a, kind: external, executor: chatty, env_set: { A: "${CANARIES.LITERAL}" } }]`;
    io.write('WORKFLOW.md', `---\n${tracker}\n${settings('http://127.0.0.1:9')}\n${steps}\n---\nWork\n`);

    await check({ workflowPath: 'WORKFLOW.md', json, schema: false }, io, memoryRegistry());

    expect(io.out()).toContain('env.API_TOKEN holds a secret in the file');
    expect(found(io.out() + io.err())).toEqual([]);
  },
);

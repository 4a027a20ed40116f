import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.js';
import { commandTracker } from '../../src/tracker/command/tracker.js';
import type { TrackerEntry } from '../../src/tracker/registry.js';
import { spellingsOf, writtenBy } from '../support/leaks.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';
import { FAKE_KINDS, type FakeKind } from '../support/trackers/fake-kinds.js';
import type { FakeRequest } from '../support/trackers/fake-server.js';

/** In a request of the raw tool: the tracker echoes the whole request. */
const ECHO = 'echo-please';

interface Bed {
  readonly entry: TrackerEntry;
  readonly section: JsonObject;
  readonly env: { readonly [name: string]: string };
  readonly secret: string;
  readonly identifier: string;
  readonly rawCall: { readonly tool: string; readonly arguments: JsonObject } | null;
}

/** A tracker that repeats the token in its first answer, an error, and in its answers to the raw tool. */
async function overHttp({ start, active }: FakeKind, rawCall: Bed['rawCall']): Promise<Bed> {
  const fake = await start();
  const { identifier } = fake.add({ state: active, labels: ['baton'] });
  fake.server.fault = (request) => {
    const said = everythingIn(request, fake.token);
    if (fake.server.requests.length === 1) return { status: 500, body: { message: said } };
    const isEcho = JSON.stringify([request.url.href, request.body]).includes(ECHO);
    return isEcho ? { body: { data: { said }, said } } : null;
  };
  const provider = { ...fake.provider, raw_tool: true };
  const section = { kind: fake.kind, provider, active_states: [active], trust: 'anyone' };
  const env = { [fake.variable]: fake.token };
  return { entry: fake.entry, section, env, secret: fake.token, identifier, rawCall };
}

function everythingIn({ headers }: FakeRequest, token: string): string {
  const encoded = ['', 'a', 'ab'].flatMap((before) => {
    const bytes = Buffer.from(`${before}${token}z`);
    return [bytes.toString('base64'), bytes.toString('base64url')];
  });
  const written = [token, JSON.stringify({ token }), encodeURIComponent(token)];
  return [...written, ...encoded, ...Object.values(headers)].join(' | ');
}

/** A program that prints its secret to every output. */
async function byCommand(): Promise<Bed> {
  const program = fileURLToPath(new URL('../support/trackers/programs/leaks-secret-board.mjs', import.meta.url));
  const secret = 'prg/canary+"0042=';
  const provider = { command: `'${process.execPath}' '${program}'`, env: { TOKEN: '$BOARD_TOKEN' } };
  const section = { kind: 'command', provider, active_states: ['Todo'] };
  return { entry: commandTracker, section, env: { BOARD_TOKEN: secret }, secret, identifier: 'X-1', rawCall: null };
}

const rest = (tool: string, path: string) => ({ tool, arguments: { method: 'GET', path } });

const { linear, github, gitlab, jira, redmine } = FAKE_KINDS;
const query = { query: 'query Echo($text: String) { viewer { id } }', variables: { text: ECHO } };

const BEDS: readonly (readonly [string, () => Promise<Bed>])[] = [
  ['linear', () => overHttp(linear, { tool: 'linear_graphql', arguments: query })],
  ['github', () => overHttp(github, rest('github_api', `/issues?labels=${ECHO}`))],
  ['gitlab', () => overHttp(gitlab, rest('gitlab_api', `/issues?labels=${ECHO}`))],
  ['jira', () => overHttp(jira, rest('jira_rest', `/issue/ABC-1?fields=${ECHO}`))],
  ['redmine', () => overHttp(redmine, rest('redmine_api', `/issues.json?subject=${ECHO}`))],
  ['command', byCommand],
];

test.each(BEDS)(
  'SEC-12 SEC-20 the token of %s is in no environment, prompt, answer to an agent, log, store or page',
  async (_, open) => {
    const { entry, section, env, secret, identifier, rawCall } = await open();
    const calls = [{ tool: 'update_issue', arguments: { comment: 'A word.' } }, ...(rawCall ? [rawCall] : [])];
    const words = calls.map((call) => JSON.stringify(call));
    const daemon = await testDaemon({
      env,
      adapter: { entry, section },
      settings: `
server: { port: 0 }
runtime: { env: inherit }
agent: { max_turns: 1 }
hooks: { before_run: "env > ../../hook.seen" }
codex: { command: ${JSON.stringify(agentCommand('calls-tools', ...words))} }`,
      body: '{{ issue.identifier }} {{ issue.title }} {{ issue.description }} {{ issue.url }} {% for c in issue.comments %}{{ c.body }}{% endfor %}',
    });
    await daemon.until(
      'the end of a run',
      (state, event) => event?.type === 'run_exited' && Object.keys(state.records).length === 1,
    );

    const workspace = (await readdir(daemon.workspaces)).find((name) => !name.startsWith('.')) ?? '';
    const seen = ['hook.seen', `workspaces/${workspace}/env.seen`, `workspaces/${workspace}/received.jsonl`];
    const written = new Map(await writtenBy(daemon, identifier));
    for (const name of seen) written.set(name, await readFile(join(daemon.dir, name), 'utf8'));
    const received = written.get(seen[2] ?? '') ?? '';
    const spellings = [...spellingsOf(secret), Buffer.from(secret).toString('hex')];
    const leaks = [...written].flatMap(([place, text]) =>
      spellings.filter((spelling) => text.includes(spelling)).map((spelling) => `${place}: ${spelling}`),
    );

    expect(leaks).toEqual([]);
    // The masked place exists, so the test looked at the right output.
    expect(received.split('\n').filter((line) => line.includes('contentItems'))).toHaveLength(calls.length);
    if (rawCall) expect(received).toContain('***');
    expect(written.get('the log')).toContain('***');
  },
);

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { CapabilityManager } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import { Activity } from '../../src/api/activity.js';
import { listCapabilities } from '../../src/api/capability-listing.js';
import { acceptedShape, refreshShape, statsShape } from '../../src/api/schemas.js';
import { createClock } from '../../src/clock.js';
import { DaemonStatus } from '../../src/daemon/status.js';
import type { ServerConfig } from '../../src/domain/config.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { Core } from '../support/core.js';
import { createMemoryStore } from '../support/memory-store.js';
import { FILE } from '../support/status-samples.js';
import { type TestStep, testStep } from '../support/step-context.js';
import { ask, askAsStranger } from './http-fixture.js';

interface Served {
  readonly step: TestStep;
  readonly project: string;
  readonly stateDir: string;
  readonly manager: CapabilityManager;
  readonly log: string[];
  readonly core: Core;
  readonly status: DaemonStatus;
  readonly port: number;
  readonly token: string;
  get(path: string): ReturnType<typeof ask>;
  post(path: string, body?: object): ReturnType<typeof ask>;
}

/** What can be seen of a daemon, over a project in a folder of its own, with the real search for capabilities. */
async function served(server: Partial<ServerConfig> = {}, env: NodeJS.ProcessEnv = {}): Promise<Served> {
  const step = await testStep();
  const { project, workspace } = step;
  const [home, stateDir] = [join(workspace, '..', 'home'), join(workspace, '..', 'state')];
  for (const folder of [stateDir, join(stateDir, 'transcripts')]) mkdirSync(folder, { mode: 0o700 });
  const manager = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir: home }),
  });
  const [clock, redactor, core, log] = [createClock(), createRedactor(), new Core(), [] as string[]];
  const status = new DaemonStatus({
    server: { host: '127.0.0.1', allowedHosts: [], port: null, token: null, ...server },
    stateDir: { path: stateDir, transcripts: join(stateDir, 'transcripts'), saved: join(stateDir, 'saved') },
    ...{ version: '1.2.3', env, redactor },
    resources: {
      ...{ clock, store: createMemoryStore(), activity: new Activity(), capabilities: manager },
      containment: await detectContainment({ isolation: 'none', hide: [], clock }),
      workspaces: createWorkspaces({ root: join(workspace, '..'), scope: 'test' }),
    },
    log: createLogger({ level: 'debug', redactor, stream: { write: (line) => void log.push(line) }, pretty: false }),
    dispatch: (event) => {
      const before = core.state;
      core.send(event);
      status.decided(event, before, core.state);
    },
    state: () => core.state,
    workflow: () => step.context.workflow,
    workflowFile: () => FILE,
    allow: async () => false,
  });
  onTestFinished(async () => {
    await status.close();
    await manager.close();
    clock.close();
  });
  await status.listenHttp(0);
  await status.listenSocket();
  const port = Number(new URL(status.url ?? '').port);
  const kept = join(stateDir, 'http-token');
  const token = existsSync(kept) ? readFileSync(kept, 'utf8').trim() : (env.TOKEN ?? '');
  return {
    ...{ step, project, stateDir, manager, log, core, status, port, token },
    get: (path) => ask({ port }, path, { headers: { authorization: `Bearer ${token}` } }),
    post: (path, body) =>
      ask({ port }, path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}

const NEW = { name: 'my-executor', description: 'Custom executor', supportedTypes: ['power'] };

describe('the HTTP side of a daemon', () => {
  test('logs its address, and leaves its token but no socket behind', async () => {
    const { stateDir, status, log, token } = await served();
    const { url } = status;
    const { mode } = statSync(join(stateDir, 'socket'));

    await status.close();

    expect(mode & 0o777).toBe(0o600);
    expect(readdirSync(stateDir)).toEqual(['http-token', 'transcripts']);
    expect(log.join()).toContain(url);
    expect(log.join()).not.toContain(token);
  });

  test('decisions before the first request count in the metrics', async () => {
    const { core, status, get } = await served();
    const send = core.send.bind(core);
    core.send = (event) => {
      const before = core.state;
      const effects = send(event);
      status.decided(event, before, core.state);
      return effects;
    };
    core.poll();

    const { text } = await get('/metrics');

    expect(text).toMatch(/^baton_polls_total\{.*"ok".*\} 1$/m);
  });

  test('a socket that a killed daemon left is replaced', async () => {
    const { stateDir, status } = await served();
    await status.close();
    writeFileSync(join(stateDir, 'socket'), '');

    await status.listenSocket();

    expect(statSync(join(stateDir, 'socket')).isSocket()).toBe(true);
  });

  test('the socket gives full access without a token, and the address of the page', async () => {
    const { stateDir, core, status, token } = await served();
    const socket = { socketPath: join(stateDir, 'socket') };

    const page = await ask(socket, '/api/v1/page');
    const paused = await ask(socket, '/api/v1/pause', { method: 'POST' });

    expect(page.json).toEqual({ url: status.url, token });
    expect(paused.status).toBe(202);
    expect(core.state.pausedSinceMs).not.toBeNull();
  });

  test('the address of the page and its token are served over the socket only', async () => {
    const { get, post, token } = await served();

    const answers = await Promise.all([get('/api/v1/page'), post('/api/v1/page/file')]);

    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(answers.map(({ text }) => text).join()).not.toContain(token);
  });

  test('SEC-24 with server.token every request may show it, and the page gets the token of this start', async () => {
    const env = { TOKEN: 'a-long-token-of-the-operator' };
    const { get, post, port, stateDir, token } = await served({ token: '$TOKEN' }, env);
    const fixed = { headers: { authorization: `Bearer ${env.TOKEN}` } };

    const answers = await Promise.all([
      ask({ port }, '/api/v1/state', fixed),
      get('/api/v1/state'),
      post('/api/v1/pause'),
    ]);
    const page = await ask({ socketPath: join(stateDir, 'socket') }, '/api/v1/page');

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 202]);
    expect(page.json.token).toBe(token);
    expect(token).not.toBe(env.TOKEN);
  });

  test('a file that leads a browser to the page is for its user only, and ends with the daemon', async () => {
    const { stateDir, status, token } = await served();
    const socket = { socketPath: join(stateDir, 'socket') };

    const { json } = await ask(socket, '/api/v1/page/file', { method: 'POST' });
    const { mode } = statSync(json.file);
    const text = readFileSync(json.file, 'utf8');
    await status.close();

    expect(json.file).toBe(join(stateDir, 'open.html'));
    expect(mode & 0o777).toBe(0o600);
    expect(text).toContain(`url=${status.url}/#token=${token}"`);
    expect(existsSync(json.file)).toBe(false);
  });

  test('SEC-24 with a token of the operator it listens where others can connect; without, and with a poor one, it refuses', async () => {
    const env = {
      TOKEN: 'a-long-token-of-the-operator',
      SHORT: 'short',
      BLANK: 'two words and more',
      CYRILLIC: 'жжжжжжжжжжжжжжжжжж',
      LONG: 'x'.repeat(513),
    };

    const { status } = await served({ host: '0.0.0.0', token: '$TOKEN' }, env);

    expect(status.url).toMatch(/^http:\/\/0\.0\.0\.0:/);
    for (const token of [null, '$SHORT', '$NOT_SET', '$BLANK', '$CYRILLIC', '$LONG'])
      await expect(served({ host: '0.0.0.0', token }, env)).rejects.toMatchObject({ code: 'invalid_workflow_config' });
  });

  test('a change without the token is refused, and changes nothing', async () => {
    const { port, core } = await served();

    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic x' }]) {
      const { status, json } = await askAsStranger({ port }, '/api/v1/pause', { method: 'POST', headers });
      expect([status, json.error.code]).toEqual([401, 'unauthorized']);
    }
    expect(core.state.pausedSinceMs).toBeNull();
  });

  test('a request is accepted once it is stored, and the answer says when it could not be stored', async () => {
    const { post, core, status } = await served();
    core.confirmsWrites = false;
    const order: string[] = [];

    const pausing = post('/api/v1/pause').then((answer) => {
      order.push('answered');
      return answer;
    });
    while (core.state.pausedSinceMs === null) await new Promise(setImmediate);
    await ask({ port: Number(new URL(status.url ?? '').port) }, '/healthz');
    order.push('stored');
    const write = (type: 'persisted' | 'persist_failed') => {
      const before = core.state;
      const event = { type, seq: before.persist.orderedSeq, message: 'disk full' } as const;
      core.send(event);
      status.decided(event, before, core.state);
    };
    write('persisted');
    const paused = await pausing;
    const resuming = post('/api/v1/resume');
    while (core.state.pausedSinceMs !== null) await new Promise(setImmediate);
    write('persist_failed');
    const resumed = await resuming;

    expect(order).toEqual(['stored', 'answered']);
    expect(acceptedShape.parse(paused.json).message).not.toContain('stored');
    expect(acceptedShape.parse(resumed.json).message).toContain('could not be stored yet');
  });

  test('refresh is accepted and coalesced with the poll that is under way', async () => {
    const { post, core } = await served();
    core.send({ type: 'ticked' });

    const { status, json } = await post('/api/v1/refresh');

    expect(status).toBe(202);
    expect(refreshShape.parse(json).coalesced).toBe(true);
    expect(core.state.poll.again).toBe('person');
  });

  test('an issue that has left is still known by its runs, with its history; stats have every day', async () => {
    const { get } = await served();

    const { json } = await get('/api/v1/stats?days=3');
    const bad = await Promise.all(['0', '401', 'x', '1.5', '-1'].map((days) => get(`/api/v1/stats?days=${days}`)));

    expect(statsShape.parse(json).days).toHaveLength(3);
    expect(bad.map(({ status }) => status)).toEqual(bad.map(() => 400));
  });

  test('the stream is served as events, and refused to too many', async () => {
    const { port, token } = await served();

    const response = await fetch(`http://127.0.0.1:${port}/api/v1/events`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();

    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(first).toMatch(/^retry: 2000\n\n/);
  });

  test('S1-11 shows the backend of the workflow in force', async () => {
    const { get } = await served();

    const { json } = await get('/api/v1/state');

    expect(json.workflow).toMatchObject({ backend: { value: 'http', source: 'built-in' }, steps: 0 });
  });

  test('SEC-20 its token never leaves in an answer', async () => {
    const { get, token } = await served();

    const { status, text } = await get(`/api/v1/${token}`);

    expect(status).toBe(404);
    expect(text).not.toContain(token);
  });
});

describe('capabilities over HTTP', () => {
  test('S3-71 create makes an executor in the project, which S3-08 refresh then finds, and no more when it is gone', async () => {
    const { project, post } = await served();
    const types = async () => {
      const { json } = await post('/api/capability/refresh');
      return json.executors.filter(({ source }: { source: string }) => source === 'project');
    };

    const before = await types();
    const made = await post('/api/capability/executors/create', NEW);
    const after = await types();
    rmSync(join(project, '.baton'), { recursive: true });
    const gone = await types();

    const path = '.baton/capabilities/executors/my-executor';
    expect(made.status).toBe(201);
    expect(made.json).toEqual({ name: 'my-executor', path });
    expect([before, gone]).toEqual([[], []]);
    expect(after).toEqual([
      {
        name: 'my-executor',
        version: '1.0.0',
        description: 'Custom executor',
        types: ['power'],
        source: 'project',
        dir: join(project, path),
        entry: 'dist/index.js',
        entry_missing: false,
      },
    ]);
  });

  test.each<[object, RegExp]>([
    [{}, /name must be a text/],
    [{ ...NEW, name: '../../x' }, /is not a valid executor name/],
    [{ ...NEW, name: '' }, /is not a valid executor name/],
    [{ ...NEW, name: '__proto__' }, /is not a valid executor name/],
    [{ ...NEW, supportedTypes: [] }, /at least one type/],
    [{ ...NEW, supportedTypes: 'power' }, /supportedTypes must be a list/],
    [{ ...NEW, supportedTypes: [5] }, /supportedTypes must be a list/],
    [{ ...NEW, entryPoint: '../x.js' }, /entryPoint/],
    [{ ...NEW, version: 1 }, /version must be a text/],
    [[], /must be an object/],
  ])('S3-71 create with %j is 400 and makes nothing', async (body, message) => {
    const { project, post } = await served();

    const { status, json } = await post('/api/capability/executors/create', body);

    expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(json.error.message).toMatch(message);
    expect(existsSync(join(project, '.baton'))).toBe(false);
  });

  test('S3-71 create never writes over an executor that is there', async () => {
    const { project, post } = await served();
    await post('/api/capability/executors/create', NEW);
    const entry = join(project, '.baton/capabilities/executors/my-executor/dist/index.js');
    writeFileSync(entry, 'mine');

    const { status, json } = await post('/api/capability/executors/create', NEW);

    expect(status).toBe(400);
    expect(json.error.message).toContain('already exists');
    expect(readFileSync(entry, 'utf8')).toBe('mine');
  });

  test('S3-72 S3-73 stats lists current executions and counts outcomes', async () => {
    const { step, project, manager, get, post } = await served();
    await post('/api/capability/executors/create', NEW);
    const dir = join(project, '.baton/capabilities');
    // Says that it is at work, and is never done.
    writeFileSync(
      join(dir, 'executors/my-executor/dist/index.js'),
      `import(process.env.BATON_CAPABILITY_CLIENT).then(({ codebolt }) => {
        codebolt.onActionBlockInvocation(() => { console.log('at work'); return new Promise(() => {}); });
      });`,
    );
    mkdirSync(join(dir, 'power/wait'), { recursive: true });
    writeFileSync(join(dir, 'power/wait/capability.yaml'), 'name: wait\ntype: power\n');
    const controller = new AbortController();
    let atWork = () => {};
    const working = new Promise<void>((resolve) => {
      atWork = resolve;
    });
    const context = {
      ...step.context,
      signal: controller.signal,
      audit: (kind: string) => void (kind === 'capability_output' && atWork()),
    };

    const running = manager.startCapability({ type: 'power', name: 'wait', params: {}, timeoutMs: null }, context);
    await working;
    const during = await get('/api/capability/stats');
    controller.abort('operator');
    const { executionId } = await running;
    const after = await get('/api/capability/stats');

    expect(during.json.active).toEqual([
      expect.objectContaining({
        execution_id: executionId,
        type: 'power',
        name: 'wait',
        executor: 'my-executor',
        status: 'running',
      }),
    ]);
    expect(after.json).toEqual({ active: [], totals: { completed: 0, failed: 0, timeout: 0, stopped: 1 } });
  });

  test('docs/http.md names every field of stats and refresh', async () => {
    const { manager, project, get } = await served();
    const document = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8');
    const dir = join(project, '.baton/capabilities/skill/x');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'capability.yaml'), 'name: x\ntype: skill\ninputs: [{ name: a, required: true }]\n');
    mkdirSync(join(dir, '../broken'));

    const listing = await listCapabilities(await manager.refresh(project));
    const { json: stats } = await get('/api/capability/stats');

    expect(listing.capabilities).toHaveLength(1);
    expect(listing.problems).toHaveLength(1);
    const undocumented = keysOf([listing, stats]).filter((key) => !document.includes(`\`${key}\``));
    expect(undocumented).toEqual([]);
  });
});

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...keysOf(child)]);
}

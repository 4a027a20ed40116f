import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CapabilityManager } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/discover-capabilities.js';
import { createClock } from '../../src/clock.js';
import { serveStatus } from '../../src/daemon-http.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { listCapabilities } from '../../src/status/capability-listing.js';
import { Core } from '../support/core.js';
import { type TestStep, testStep } from '../support/step-context.js';
import { ask } from './http-fixture.js';

interface Served {
  readonly step: TestStep;
  readonly project: string;
  readonly stateDir: string;
  readonly manager: CapabilityManager;
  readonly log: string[];
  readonly server: Awaited<ReturnType<typeof serveStatus>>;
  readonly token: string;
  get(path: string): ReturnType<typeof ask>;
  post(path: string, body?: object): ReturnType<typeof ask>;
}

/** The HTTP side of a daemon over a project in a folder of its own, with the real search for capabilities. */
async function served(): Promise<Served> {
  const step = await testStep();
  const { project, workspace } = step;
  const [home, stateDir] = [join(workspace, '..', 'home'), join(workspace, '..', 'state')];
  mkdirSync(stateDir, { mode: 0o700 });
  const manager = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir: home }),
  });
  const [clock, redactor, core, log] = [createClock(), createRedactor(), new Core(), [] as string[]];
  const server = await serveStatus(0, {
    server: { host: '127.0.0.1', allowedHosts: [] },
    ...{ stateDir, clock, redactor, capabilities: manager },
    log: createLogger({ level: 'debug', redactor, stream: { write: (line) => void log.push(line) }, pretty: false }),
    state: () => core.state,
    workflow: () => step.context.workflow,
  });
  onTestFinished(async () => {
    await server.close();
    await manager.close();
    clock.close();
  });
  const token = readFileSync(join(stateDir, 'http-token'), 'utf8').trim();
  return {
    ...{ step, project, stateDir, manager, log, server, token },
    get: (path) => ask(server, path),
    post: (path, body) =>
      ask(server, path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}

const NEW = { name: 'my-executor', description: 'Custom executor', supportedTypes: ['power'] };

describe('the HTTP side of a daemon', () => {
  test('writes down where it listens until it ends, and keeps its token', async () => {
    const { stateDir, server, log, token } = await served();

    const address = JSON.parse(readFileSync(join(stateDir, 'http-address'), 'utf8'));
    await server.close();

    expect(address).toMatchObject({ url: server.url, pid: process.pid });
    expect(readdirSync(stateDir)).toEqual(['http-token']);
    expect(log.join()).toContain(server.url);
    expect(log.join()).not.toContain(token);
  });

  test('S1-11 tells the backend of the workflow in force', async () => {
    const { get } = await served();

    const { json } = await get('/api/v1/state');

    expect(json.workflow).toMatchObject({ backend: { value: 'http', source: 'built-in' }, steps: 0 });
  });

  test('SEC-20 its token never leaves in an answer', async () => {
    const { server, token } = await served();

    const { status, text } = await ask(server, `/api/v1/${token}`);

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
    [{ ...NEW, name: '../../x' }, /cannot name an executor/],
    [{ ...NEW, name: '' }, /cannot name an executor/],
    [{ ...NEW, name: '__proto__' }, /cannot name an executor/],
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
    expect(json.error.message).toContain('is there already');
    expect(readFileSync(entry, 'utf8')).toBe('mine');
  });

  test('S3-72 S3-73 stats lists what is at work, and counts how it ended', async () => {
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

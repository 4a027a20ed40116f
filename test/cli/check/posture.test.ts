import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LimitMeans } from '../../../runner/contain/run-limits.js';
import { postureFindings } from '../../../src/cli/check/posture.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { contextFor, type Given } from './tracker-context.js';

const GROUPED: LimitMeans = { controllers: ['pids', 'memory', 'cpu'], obstacle: null, countsPerCommand: true };

async function posture(given: Given = {}, isolation: 'pidns' | 'none' = 'pidns', means = GROUPED) {
  const context = await contextFor(await startFakeGithub(), given);
  const findings = postureFindings(
    { ...context, containment: { ...context.containment, kind: isolation } as never },
    means,
  );
  return Object.fromEntries(findings.map(({ code, message }) => [code.replace('posture_', ''), message]));
}

beforeEach(() => {
  vi.spyOn(process, 'geteuid').mockReturnValue(1000);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('the posture', () => {
  test('of the defaults is five lines', async () => {
    expect(await posture({ rest: 'runtime: { max_memory_mb: 1000 }\n' })).toMatchInlineSnapshot(`
      {
        "reach": "reach: no network; their model, their own issue",
        "read": "read: the system, toolchains, their own workspace and TMPDIR",
        "spend": "spend: 10M tokens per issue, 10 agents at a time; 20480 MB per workspace, 4096 processes per run, 1000 MB of memory per run",
        "start": "start: members, on issues with the label go",
        "write": "write: their own workspace and TMPDIR",
      }
    `);
  });

  test.each([
    ['danger-full-access', 'write: everything that your user can write'],
    ['workspace-write', 'write: their own workspace and TMPDIR'],
    ['read-only', 'write: nothing'],
  ])('says that %s does not restrict reading, and what it does to writing', async (sandbox, writing) => {
    const { read, write } = await posture({ rest: `codex: { thread_sandbox: ${sandbox} }\n` });
    expect(read).toContain('everything that your user can read');
    expect(write).toBe(writing);
  });

  test.each([
    ['codex app-server', true],
    ["env X=1 '/opt/my tools/codex' app-server", true],
    ['npx @openai/codex@latest app-server', false],
    ['node_modules/.bin/codex app-server', false],
    ['./codex app-server', false],
    ['node my-agent.mjs', false],
    ['codex-like app-server', false],
  ])('promises the sandbox of Codex for Codex only: %s', async (command, isCodex) => {
    const { read, write } = await posture({ rest: `codex: { command: "${command}" }\n` });
    expect([read, write].map((line) => line?.includes('everything that your user'))).toEqual([!isCodex, !isCodex]);
  });

  test('says that root also changes settings of the kernel, which the sandbox of Codex does not protect', async () => {
    vi.mocked(process.geteuid)?.mockReturnValue(0);
    const { write } = await posture();
    expect(write).toMatch(/TMPDIR; as root also .*\/proc\/sys/);
  });

  test('says that without namespaces the state of Baton can be read too', async () => {
    const { read } = await posture({ rest: 'codex: { thread_sandbox: danger-full-access }\n' }, 'none');
    expect(read).toContain('the state and the environment of Baton included');
  });

  test('names what the settings open', async () => {
    const rest =
      'codex: { readable: [/srv/data], web_search: true, mcp_servers: [docs] }\nagent: { max_tokens_per_issue: 0 }\n';
    const tracker = { trust: 'anyone', required_labels: [] };
    const { read, reach, spend, start } = await posture({ rest, tracker, provider: { raw_tool: true } });
    expect(read).toContain('/srv/data');
    expect(reach).toMatch(/raw_tool.*web search.*docs/);
    expect(spend).toContain('without limit');
    expect(start).toContain('anyone');
  });

  test.each([
    ['local', 'anyone who can write the files of the issues'],
    ['command', 'anyone who can write issues in the tracker'],
  ])('names who starts agents of the tracker %s', async (kind, starters) => {
    const context = await contextFor(await startFakeGithub());
    const { workflow } = context.loaded;
    const tracker = { ...workflow.config.tracker, kind, trust: null };
    const loaded = { ...context.loaded, workflow: { ...workflow, config: { ...workflow.config, tracker } } };

    const found = postureFindings({ ...context, loaded }, GROUPED).find(({ code }) => code === 'posture_start');

    expect(found?.message).toContain(starters);
  });

  test('says what is not limited without a control group, and how to have one', async () => {
    const { spend } = await posture({}, 'pidns', { controllers: [], obstacle: 'no cgroup v2', countsPerCommand: true });
    expect(spend).toMatch(/4096 processes per command, any memory \(no cgroup v2\).*service/);
  });
});

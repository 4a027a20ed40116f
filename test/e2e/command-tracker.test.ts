import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import { demoAgent, type Place, place, processesIn } from '../cli/command.js';
import { hasNamespaces } from '../support/installed-daemon.js';

/** Has a child in its own session that holds its stdout; both ignore TERM. Answers unless it is configured to hang. */
const FAMILY = `
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
process.on('SIGTERM', () => {});
const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
spawn(process.execPath, ['-e', deaf, import.meta.dirname], { detached: true, stdio: 'inherit' }).unref();
setInterval(() => {}, 1000);
const board = [{ id: '1', identifier: 'X-1', title: 'One', state: 'Todo' }];
const answers = { issues_by_states: { issues: board }, issues_by_ids: { issues: board }, comments: { comments: [] }, move: {}, comment: {} };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  appendFileSync('asked.log', method + '\\n');
  if (process.argv[2] === 'hang') return;
  if (method === 'move') board[0].state = params.state;
  const result = answers[method];
  process.stdout.write(JSON.stringify(result ? { id, result } : { id, error: { code: 'unsupported' } }) + '\\n');
});
`;

/** Answers one line and exits, leaving a child behind each time. */
const ONE_SHOT = `IFS= read -r line
id=\${line#*\\"id\\":}
id=\${id%%,*}
echo start >> starts.log
(exec -a "$PWD-left" sleep 300) < /dev/null &
printf '{"id":%s,"result":{"issues":[]}}\\n' "$id"
`;

const STATE = ['--state-dir', 'state'] as const;

/** Ending one process may end others: a namespace ends with its first process. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Tests run in parallel, so each registers its cleanup in its own context. */
function workplace({ onTestFinished }: TestContext, command: string, settings = ''): Place {
  const here = place(onTestFinished);
  here.write('family.mjs', FAMILY);
  here.write('one-shot.sh', ONE_SHOT);
  here.write(
    'WORKFLOW.md',
    `---
tracker: { kind: command, provider: { command: "${command}" }, active_states: [Todo], terminal_states: [Done] }
polling: { interval_ms: 300 }
workspace: { root: ./workspaces, min_free_mb: 1 }
codex: { command: ${demoAgent()} }
${settings}
---
Go on with {{ issue.identifier }}
`,
  );
  onTestFinished(() => {
    for (const line of processesIn(here.dir)) {
      const pid = Number(line.trim().split(' ')[0]);
      if (pid !== process.pid) killIfThere(pid);
    }
  });
  return here;
}

const program = (mode: string) => `'${process.execPath}' \\"$PWD/family.mjs\\" ${mode}`;
const HANGING = program('hang');
const ANSWERING = program('answer');

/** Waits until the program has received a request and its child is alive. */
async function whenAsked(here: Place, times = 1): Promise<void> {
  const asked = () => (existsSync(join(here.dir, 'asked.log')) ? here.read('asked.log').split('\n').length - 1 : 0);
  await expect.poll(asked, { timeout: 15_000 }).toBeGreaterThanOrEqual(times);
  await expect.poll(() => programs(here).length, { timeout: 5_000 }).toBeGreaterThanOrEqual(2);
}

function programs(here: Place): string[] {
  return processesIn(here.dir).filter((line) => /family\.mjs|setInterval/.test(line) && !/WORKFLOW\.md/.test(line));
}

const user = process.geteuid?.() === 0 ? 'root' : 'an ordinary user';

describe.concurrent('a tracker program that hangs, ignores TERM and has a child in another session', () => {
  test.runIf(hasNamespaces(user))(
    'is gone with its daemon, killed with -9 in the middle of a read',
    async (context) => {
      const here = workplace(context, HANGING, 'runtime: { isolation: pidns }');
      const { child, ended } = here.start('WORKFLOW.md', ...STATE);
      await whenAsked(here);

      child.kill('SIGKILL');
      await ended;

      await expect.poll(() => programs(here), { timeout: 5_000 }).toEqual([]);
    },
  );

  test('without isolation ends at the next start at the latest', async (context) => {
    const here = workplace(context, HANGING, 'runtime: { isolation: none }');
    const first = here.start('WORKFLOW.md', ...STATE);
    await whenAsked(here);
    const before = programs(here).map((line) => line.trim().split(' ')[0]);
    first.child.kill('SIGKILL');
    await first.ended;
    expect(programs(here)).not.toEqual([]);

    const second = here.start('WORKFLOW.md', ...STATE);
    await whenAsked(here, 2);

    expect(programs(here).filter((line) => before.includes(line.trim().split(' ')[0]))).toEqual([]);
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    expect(programs(here)).toEqual([]);
  });

  test.for(['none', 'auto'])(
    'does not keep a daemon from leaving in time and with 0: isolation %s',
    async (isolation, context) => {
      const here = workplace(context, HANGING, `runtime: { isolation: ${isolation} }`);
      const { child, ended } = here.start('WORKFLOW.md', ...STATE);
      await whenAsked(here);
      const toldMs = performance.now();

      child.kill('SIGTERM');

      expect((await ended).code).toBe(0);
      expect(performance.now() - toldMs).toBeLessThan(15_000);
      expect(programs(here)).toEqual([]);
    },
  );

  test('is not started by a second daemon on the same workflow, which exits with 2 and names the first', async (context) => {
    const here = workplace(context, HANGING);
    const first = here.start('WORKFLOW.md', ...STATE);
    await whenAsked(here);
    const before = programs(here).length;

    const second = await here.baton('WORKFLOW.md', '--state-dir', 'other');

    expect(second.code).toBe(2);
    expect(second.stderr + second.stdout).toContain(String(first.child.pid));
    expect(programs(here)).toHaveLength(before);
  });
});

describe.concurrent('a command that asks a tracker program leaves nothing of it behind', () => {
  test.for([
    ['check', 'WORKFLOW.md', ...STATE],
    ['WORKFLOW.md', '--dry-run', ...STATE],
    ['render', 'X-1', 'WORKFLOW.md'],
    ['WORKFLOW.md', '--once', ...STATE],
    ['WORKFLOW.md', '--issue', 'X-1', ...STATE],
  ])('%j', async (args, context) => {
    const { expect } = context;
    const here = workplace(context, ANSWERING);

    const result = await here.baton(...args);

    expect([result.code, result.stderr]).toEqual([0, expect.anything()]);
    expect(here.read('asked.log')).toMatch(/issues_by|describe/);
    expect(processesIn(here.dir)).toEqual([]);
  });
});

test.for(['none', 'auto'])(
  'a program that is started for every question, and forks, leaves neither descriptors nor zombies in the daemon: isolation %s',
  async (isolation, context) => {
    const here = workplace(context, 'bash one-shot.sh', `runtime: { isolation: ${isolation} }`);
    here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace('interval_ms: 300', 'interval_ms: 1'));
    const { child, ended } = here.start('WORKFLOW.md', ...STATE);
    const starts = () => (existsSync(join(here.dir, 'starts.log')) ? here.read('starts.log').split('\n').length : 0);
    const descriptors = () => readdirSync(`/proc/${child.pid}/fd`).length;
    await expect.poll(starts, { timeout: 20_000 }).toBeGreaterThan(5);
    const before = descriptors();

    await expect.poll(starts, { timeout: 30_000 }).toBeGreaterThan(25);

    await expect.poll(descriptors).toBeLessThanOrEqual(before + 4);
    await expect.poll(() => childrenOf(child.pid ?? 0)).toBeLessThanOrEqual(2);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    expect(processesIn(here.dir)).toEqual([]);
  },
);

/** Zombies count. */
function childrenOf(pid: number): number {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1]?.split(' ')[1] === String(pid)
      );
    } catch {
      return false; // It ended while we looked.
    }
  }).length;
}

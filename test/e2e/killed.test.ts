import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, type TestContext, test, vi } from 'vitest';
import {
  hasNamespaces,
  Installation,
  type InstalledDaemon,
  livingWith,
  USERS,
  type User,
} from '../support/installed-daemon.js';

const AGENTS = 3;
let installation: Installation;

// Copying and removing an installation takes a while on a busy machine.
const SETUP_LIMIT_MS = 60_000;

beforeAll(() => {
  installation = new Installation();
}, SETUP_LIMIT_MS);

afterAll(() => installation.close(), SETUP_LIMIT_MS);

/** A daemon with agents in their turns that ignore EOF and TERM and have children outside their process group. */
async function busy(
  { expect, onTestFinished }: TestContext,
  user: User,
  settings = '',
): Promise<{ daemon: InstalledDaemon; mark: string }> {
  const mark = String(Math.floor(Math.random() * 1e9)).padStart(9, '0');
  const command = installation.agent('stubborn', mark);
  const daemon = installation.start(user, {
    settings: `codex: { command: "${command}" }\n${settings}`,
    issues: AGENTS,
  });
  onTestFinished(async () => {
    daemon.process.kill('SIGKILL');
    await daemon.exited;
    for (const living of livingWith(mark)) process.kill(Number(living.split(' ')[0]), 'SIGKILL');
    daemon.remove();
  });
  await daemon.line((line) => line.turns === AGENTS);
  await vi.waitFor(() => expect(livingWith(mark).length).toBeGreaterThanOrEqual(AGENTS * 3), 5_000);
  return { daemon, mark };
}

// Without namespaces the tests below cannot run. In CI that must not count as a success.
test.runIf(process.env.CI && process.platform === 'linux')(
  'CI shows the guarantee for every user it can be',
  ({ expect }) => {
    expect(USERS.filter(hasNamespaces)).toEqual(USERS);
  },
);

// In parallel: they mostly wait for the stop ladder of agents that ignore signals.
describe.concurrent.each(USERS.filter(hasNamespaces))('the daemon of %s', (user) => {
  test('killed with -9 leaves no process behind, whatever its agents ignore', async (context) => {
    const { expect } = context;
    const { daemon, mark } = await busy(context, user);

    daemon.process.kill('SIGKILL');
    await daemon.exited;

    await vi.waitFor(() => expect(livingWith(mark)).toEqual([]), 5_000);
  });

  test('killed with -9 three times in a row during an issue, parks it and works on the next one', async (context) => {
    const { expect } = context;
    const agent = installation.agent('stubborn', 'looping');
    const settings = `codex: { command: "${agent}" }\nagent: { max_concurrent_agents: 1 }`;
    let again: { again: string } | null = null;
    const start = () => {
      const daemon = installation.start(user, { settings, issues: 2, ...again });
      context.onTestFinished(async () => {
        daemon.process.kill('SIGKILL');
        await daemon.exited;
        daemon.remove();
      });
      again = { again: daemon.dir };
      return daemon;
    };

    for (let death = 1; death <= 3; death++) {
      const daemon = start();
      await daemon.line((line) => line.turns === 1);
      daemon.process.kill('SIGKILL');
      await daemon.exited;
    }
    const survivor = start();

    await survivor.line((line) => line.turns === 1);
    expect(survivor.lines).toContainEqual(
      expect.objectContaining({ msg: 'issue parked', issue_identifier: 'B-0', reason: 'daemon_died' }),
    );
    const started = survivor.lines.filter(({ msg }) => msg === 'run started');
    expect(started).toMatchObject([{ issue_identifier: 'B-1' }]);
  });

  test('on SIGTERM exits with 0 once every process is gone', async (context) => {
    const { expect } = context;
    const { daemon, mark } = await busy(context, user);

    daemon.process.kill('SIGTERM');

    expect(await daemon.exited).toBe(0);
    expect(livingWith(mark)).toEqual([]);
    expect(daemon.lines.at(-1)).toMatchObject({ msg: 'stopped', forced: false });
  });

  test('on a second SIGTERM exits at once and leaves no process behind', async (context) => {
    const { expect } = context;
    const { daemon, mark } = await busy(context, user, "hooks: { after_run: 'sleep 50' }");

    daemon.process.kill('SIGTERM');
    await daemon.line((line) => line.msg === 'stopping run');
    daemon.process.kill('SIGINT');

    expect(await daemon.exited).toBe(0);
    await vi.waitFor(() => expect(livingWith(mark)).toEqual([]), 5_000);
    expect(daemon.lines.at(-1)).toMatchObject({ msg: 'stopped', forced: true });
  });

  test('without namespaces stops the agents that kept their marker on SIGTERM', async (context) => {
    const { expect } = context;
    const { daemon, mark } = await busy(context, user, 'runtime: { isolation: none }');

    daemon.process.kill('SIGTERM');

    expect(await daemon.exited).toBe(0);
    // 2001: started with an empty environment in its own session, which the documented fallback cannot reach.
    expect(livingWith(mark).every((command) => command.includes(`sleep 2001.${mark}`))).toBe(true);
    expect(daemon.lines).toContainEqual(
      expect.objectContaining({ msg: 'isolation of runs', level: 'warn', isolation: 'none' }),
    );
  });

  test('exits by force when its shutdown time is over', async (context) => {
    const { expect } = context;
    const { daemon, mark } = await busy(
      context,
      user,
      "hooks: { after_run: 'sleep 50', timeout_ms: 60000 }\nruntime: { shutdown_timeout_ms: 400 }",
    );

    daemon.process.kill('SIGTERM');

    expect(await daemon.exited).toBe(0);
    await vi.waitFor(() => expect(livingWith(mark)).toEqual([]), 5_000);
    expect(daemon.lines.at(-1)).toMatchObject({ msg: 'stopped', forced: true });
    expect(readdirSync(daemon.dir).filter((name) => name.startsWith('baton-'))).toEqual([]);
  });

  test('a forced exit ends the hook of a removal, without namespaces too', async (context) => {
    const { expect } = context;
    const { daemon, mark } = await busy(
      context,
      user,
      "runtime: { isolation: none, shutdown_timeout_ms: 400 }\nhooks: { before_remove: 'sleep 3000.$BATON_ISSUE_TITLE' }",
    );
    daemon.finishIssues(mark);
    await vi.waitFor(() => expect(livingWith(`sleep 3000.${mark}`)).toHaveLength(AGENTS), 20_000);

    daemon.process.kill('SIGTERM');

    expect(await daemon.exited).toBe(0);
    await vi.waitFor(() => expect(livingWith(`sleep 3000.${mark}`)).toEqual([]), 5_000);
  });
});

import { expect, test } from 'vitest';
import { hasNamespaces, USERS } from '../support/installed-daemon.js';
import { threadOf } from './baton-process.js';
import { textOf } from './mock-model.js';
import { hang, moveIssue, run, say } from './mock-replies.js';
import { descendantsOf, leftOf } from './processes.js';
import { testBed } from './test-bed.js';
import { until } from './until.js';

/** Runs in the background of the turn: codex waits 250 ms for it, then asks the model. */
const LONG_COMMAND = run("setsid bash -c 'sleep 86399' & exec sleep 86400", { yield_time_ms: 250 });

/** With its own sandbox codex ends its commands when it dies; without a sandbox only Baton ends them. */
const SANDBOXES = ['workspace-write', 'danger-full-access'];
/** Only a PID namespace ends together with a killed daemon. */
const SANDBOXES_TO_KILL = hasNamespaces(USERS[0] ?? 'an ordinary user') ? SANDBOXES : ['workspace-write'];

test.each(SANDBOXES)(
  'SIGTERM in mid-turn (%s), with a running command and a silent model, ends with 0 in time and leaves no process',
  async (sandbox) => {
    const { board, model, dir, start } = await testBed({ codex: `thread_sandbox: ${sandbox}` });
    board.add('TASK-1', 'Never ends');
    model.script('TASK-1', LONG_COMMAND, hang);
    const baton = start();
    await until('the model to be silent', 30_000, () => model.requests[1]);
    const tree = descendantsOf(baton.pid);

    const code = await baton.stop(10_000);

    expect(code).toBe(0);
    expect(tree.map(({ command }) => command.trim())).toEqual(
      expect.arrayContaining(['sleep 86400', 'sleep 86399', expect.stringContaining('app-server')]),
    );
    expect(leftOf(dir, tree).map(({ command }) => command)).toEqual([]);
    expect(board.state('TASK-1')).toBe('To Do');
  },
);

test.each(SANDBOXES_TO_KILL)(
  'kill -9 in mid-turn (%s) leaves no process, and the next start resumes the thread and finishes the issue',
  async (sandbox) => {
    const { board, model, dir, start } = await testBed({ codex: `thread_sandbox: ${sandbox}` });
    board.add('TASK-1', 'Survives');
    model.script('TASK-1', say('The first half is done.'), LONG_COMMAND, hang);
    const killed = start();
    await until('the model to be silent', 30_000, () => model.requests[2]);
    const [first] = killed.lines('turn began');
    const tree = descendantsOf(killed.pid);

    await killed.kill();
    await until('all of its processes to be gone', 10_000, () => leftOf(dir, tree).length === 0 || undefined);
    model.script('TASK-1', moveIssue('Done'), say('The second half is done.'));
    const next = start();
    const ended = await next.line('run ended', { issue_identifier: 'TASK-1' });
    await next.stop();

    expect(tree.map(({ command }) => command.trim())).toEqual(expect.arrayContaining(['sleep 86400', 'sleep 86399']));
    expect(next.lines('run started')).toEqual([
      expect.objectContaining({ reason: 'resumed', issue_identifier: 'TASK-1' }),
    ]);
    expect(ended).toMatchObject({ outcome: 'success' });
    expect(threadOf(next.lines('turn began')[0])).toBe(threadOf(first));
    const history = model.requests[3]?.input.map(textOf).join('\n');
    for (const words of [
      'Work on TASK-1: Survives',
      'The first half is done.',
      'You are still working on issue TASK-1',
    ]) {
      expect(history).toContain(words);
    }
    expect(board.state('TASK-1')).toBe('Done');
  },
);

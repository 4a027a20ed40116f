import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { demoWorkflow, ioOf, liveDaemon, printed, until, untilToldTo } from './client/live-daemon.js';
import { type Place, place } from './command.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';

function board(whenOver?: Parameters<typeof place>[0]): Place {
  const here = place(whenOver);
  demoWorkflow(here, 'agent: { max_concurrent_agents: 1 }');
  here.issue(1, 'Say hello to everybody who comes along this way today', untilToldTo(here));
  here.issue(2, 'Say more', '- write `more.txt`: more');
  return here;
}

/** A command on a new terminal, as a user has it. */
function onTerminal(here: Place, columns: number, ...args: string[]) {
  const { cwd, env } = ioOf(here);
  const command = `tty; echo pid $$; stty cols ${columns} rows 30; exec '${process.execPath}' '${MAIN}' ${args.join(' ')}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm', SHELL: '/bin/sh' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.setEncoding('utf8');
  const text = printed(child);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const pid = () => Number(/pid (\d+)/.exec(text())?.[1]);
  return {
    ended,
    text,
    /** The last drawn screen. */
    screen: () => text().slice(text().lastIndexOf('\u001b[H')),
    interrupt: () => void child.stdin.write('\u0003'),
    suspend: () => void child.stdin.write('\u001a'),
    isStopped: () => / T /.test(readFileSync(`/proc/${pid()}/stat`, 'utf8')),
    goOn() {
      // `script` stops too, some time after its command.
      child.kill('SIGCONT');
      process.kill(pid(), 'SIGCONT');
    },
    resize(wide: number) {
      const terminal = /\/dev\/pts\/\d+/.exec(text())?.[0] ?? '';
      execFileSync('stty', ['-F', terminal, 'cols', String(wide)]);
    },
  };
}

describe('baton status --watch', () => {
  const here = board(afterAll);
  beforeAll(async () => {
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);
  });

  test('follows the width of the window', async () => {
    const watch = onTerminal(here, 100, 'status', '--watch');
    await until('it is wide', () => watch.screen().includes('this way today') || undefined);
    watch.resize(60);
    await until('it is narrow', () => /Say hello to every[a-z ]*…/.test(watch.screen()) || undefined);
    watch.interrupt();

    expect(await watch.ended).toBe(0);
  });

  test('gives the screen back on Ctrl-Z, and takes it again afterwards', async () => {
    const watch = onTerminal(here, 80, 'status', '--watch');
    await until('it shows the run', () => watch.screen().includes('Running (1)') || undefined);
    watch.suspend();
    await until('it is stopped', () => watch.isStopped() || undefined);
    await until('it draws again', () => {
      watch.goOn();
      return watch.text().split(ENTER).length === 3 || undefined;
    });
    await until('it shows the run', () => watch.screen().includes('Running (1)') || undefined);
    watch.interrupt();

    expect(await watch.ended).toBe(0);
    expect(watch.text().indexOf(LEAVE)).toBeLessThan(watch.text().lastIndexOf(ENTER));
    expect(watch.text().trimEnd().endsWith(LEAVE)).toBe(true);
  });

  test('redraws in place on a terminal, prints again into a pipe, and ends without a reader', async () => {
    const watch = onTerminal(here, 80, 'status', '--watch');
    const piped = here.start('status', '--watch');
    const left = here.start('status', '--watch');
    const [text, leftText] = [printed(piped.child), printed(left.child)];
    for (const shown of [watch.screen, text, leftText])
      await until('it shows the run', () => shown().includes('Running (1)') || undefined);
    left.child.stdout?.destroy();
    here.write('go', '');
    for (const shown of [watch.screen, text])
      await until('it shows what is done', () => shown().includes('Done since yesterday (2)') || undefined);
    watch.interrupt();
    piped.child.kill('SIGINT');

    expect((await left.ended).code).toBe(0);
    expect(await watch.ended).toBe(0);
    const drawn = watch.text();
    expect(drawn.split(ENTER)).toHaveLength(2);
    expect(drawn.trimEnd().endsWith(LEAVE)).toBe(true);
    expect(drawn).toContain('\u001b[32mRunning (1)\u001b[0m');
    expect(await piped.ended).toMatchObject({ code: 0, stderr: '' });
    const parts = text().split(`\n${'─'.repeat(40)}\n\n`);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.every((part) => part.startsWith('/'))).toBe(true);
    expect(text().replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});

test('baton status --watch waits for a daemon that is not there or gone, and shows the next one', async () => {
  const here = board();

  const watch = onTerminal(here, 80, 'status', '--watch');
  await until('it says so', () => /The daemon is gone: .*To start one: baton/s.test(watch.screen()) || undefined);
  const first = await liveDaemon(here);
  await until('it shows the run', () => watch.screen().includes('Running (1)') || undefined);
  await first.kill();
  await until('it is gone', () => /The daemon is gone: .*Running \(1\)/s.test(watch.screen()) || undefined);
  const second = await liveDaemon(here);
  const { daemon } = await second.state();
  await until('it shows the second', () => watch.screen().includes(`pid ${daemon.pid}`) || undefined);
  watch.interrupt();

  expect(await watch.ended).toBe(0);
  expect(watch.screen()).not.toContain('The daemon is gone');
});

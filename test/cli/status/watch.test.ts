import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { demoWorkflow, ioOf, liveDaemon, printed, until, untilToldTo } from '../client/live-daemon.js';
import { type Place, place } from '../command.js';

const MAIN = fileURLToPath(new URL('../../../dist/src/main.js', import.meta.url));
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';

function board(): Place {
  const here = place();
  demoWorkflow(here, 'agent: { max_concurrent_agents: 1 }');
  here.issue(1, 'Say hello to everybody who comes along this way today', untilToldTo(here));
  here.issue(2, 'Say more', '- write `more.txt`: more');
  return here;
}

/** A command on a terminal of its own, as a person has one. */
function onTerminal(here: Place, columns: number, ...args: string[]) {
  const { cwd, env } = ioOf(here);
  const command = `tty; stty cols ${columns} rows 30; exec '${process.execPath}' '${MAIN}' ${args.join(' ')}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm', SHELL: '/bin/sh' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.setEncoding('utf8');
  const text = printed(child);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    ended,
    text,
    /** What was drawn last. */
    screen: () => text().slice(text().lastIndexOf('\u001b[H')),
    interrupt: () => void child.stdin.write('\u0003'),
    resize(wide: number) {
      const terminal = /\/dev\/pts\/\d+/.exec(text())?.[0] ?? '';
      execFileSync('stty', ['-F', terminal, 'cols', String(wide)]);
    },
  };
}

describe('baton status --watch on a terminal', () => {
  test('draws in place what changes, and leaves the screen as it was on Ctrl-C', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const watch = onTerminal(here, 80, 'status', '--watch');
    await until('it shows the run', () => watch.screen().includes('Running (1)') || undefined);
    here.write('go', '');
    await until('it shows what is done', () => watch.screen().includes('Done since yesterday (2)') || undefined);
    watch.interrupt();
    const code = await watch.ended;

    expect(code).toBe(0);
    const text = watch.text();
    expect(text.indexOf(ENTER)).toBeGreaterThan(-1);
    expect(text.split(ENTER)).toHaveLength(2);
    expect(text.trimEnd().endsWith(LEAVE)).toBe(true);
    expect(text).toContain('\u001b[32mRunning (1)\u001b[0m');
  });

  test('follows the width of the window', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const watch = onTerminal(here, 100, 'status', '--watch');
    await until('it is wide', () => watch.screen().includes('this way today') || undefined);
    watch.resize(60);
    await until('it is narrow', () => /Say hello to every[a-z ]*…/.test(watch.screen()) || undefined);
    watch.interrupt();

    expect(await watch.ended).toBe(0);
  });

  test('waits for a daemon that is gone, and shows the next one', async () => {
    const here = board();
    const first = await liveDaemon(here);
    await first.state(({ running }) => running.length === 1);

    const watch = onTerminal(here, 80, 'status', '--watch');
    await until('it shows the run', () => watch.screen().includes('Running (1)') || undefined);
    await first.kill();
    await until(
      'it says that nobody is there',
      () => /Nobody is there: .*Running \(1\)/s.test(watch.screen()) || undefined,
    );
    const second = await liveDaemon(here);
    const { daemon } = await second.state();
    await until('it shows the second', () => watch.screen().includes(`pid ${daemon.pid}`) || undefined);
    watch.interrupt();

    expect(await watch.ended).toBe(0);
    expect(watch.screen()).not.toContain('Nobody is there');
  });

  test('waits for one that was never started, and says how to', async () => {
    const here = board();

    const watch = onTerminal(here, 80, 'status', '--watch');
    await until('it says so', () => /Nobody is there: .*To start one: baton/s.test(watch.screen()) || undefined);
    watch.interrupt();

    expect(await watch.ended).toBe(0);
  });
});

describe('baton status --watch into a pipe', () => {
  test('prints the status again whenever it has become another, below a line, in plain text', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const { child, ended } = here.start('status', '--watch');
    const text = printed(child);
    await until('it shows the run', () => text().includes('Running (1)') || undefined);
    here.write('go', '');
    await until('it shows what is done', () => text().includes('Done since yesterday (2)') || undefined);
    child.kill('SIGINT');

    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    const parts = text().split(`\n${'─'.repeat(40)}\n\n`);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.every((part) => part.startsWith('/'))).toBe(true);
    expect(text().replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('ends when nobody reads any more', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const { child, ended } = here.start('status', '--watch');
    const text = printed(child);
    await until('it shows the run', () => text().includes('Running (1)') || undefined);
    child.stdout?.destroy();
    here.write('go', '');

    expect((await ended).code).toBe(0);
  });
});

import { describe, expect, test } from 'vitest';
import { ByteLines, LastBytes } from '../../../src/tracker/command/program-pipe.js';
import { requestLine } from '../../../src/tracker/command/protocol.js';
import { errorOf, NEVER, open } from './program-fixture.js';

describe('the environment of the program', () => {
  test('has the folder of the workflow, the variables of hooks and of its settings, and no other secret', async () => {
    const env = { MY_TOKEN: 'sesame-1', GIT_TOKEN: 'sesame-2', OPENAI_API_KEY: 'sesame-3' };
    const { tracker } = open('prints-environment', { env, provider: { env: { TOKEN: '$MY_TOKEN' } } });

    const [issue] = (await tracker.issuesByStates(['Todo'], NEVER)).issues;

    const told = JSON.parse(issue?.description ?? '');
    expect(told.env).toMatchObject({ TOKEN: 'sesame-1', BATON_WORKFLOW_DIR: told.cwd });
    for (const name of ['MY_TOKEN', 'GIT_TOKEN', 'OPENAI_API_KEY']) expect(told.env).not.toHaveProperty(name);
  });

  test('SEC-20 errors contain neither secrets nor control characters', async () => {
    const env = { MY_TOKEN: 'canary-4711-secret' };
    const { tracker } = open('prints-secrets', { env, provider: { env: { TOKEN: '$MY_TOKEN' } } });

    const errors = [
      await errorOf(tracker.issuesByStates(['Todo'], NEVER)),
      await errorOf(tracker.issuesByIds(['1'], NEVER)),
      await errorOf(tracker.update('1', { comment: 'x' }, NEVER)),
    ];

    expect(errors[0]).toMatchObject({ code: 'tracker_auth', message: expect.stringContaining('MY_TOKEN') });
    for (const { message } of errors) {
      expect(message).toContain('***');
      expect(message).not.toContain('canary');
      expect(message).not.toContain('\u001b');
    }
  });

  test('SEC-10 a request is one line of ASCII', () => {
    const body = 'a\nb\r\u2028c \u0085 "$(touch x)" Ünïcödé 🧪';

    const line = requestLine(1, { method: 'comment', params: { issue_id: '1', body } });

    expect(line).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(line).params.body).toBe(body);
  });
});

describe('limits of its output', () => {
  test('an answer of ten megabytes is accepted', async () => {
    const { tracker } = open('huge-line', { args: [String(5_000_000)] });

    const [issue] = (await tracker.issuesByStates(['Todo'], NEVER)).issues;

    expect(issue?.description).toHaveLength(5_000_000);
  });

  test('SEC-13 endless stderr takes no memory, and errors quote its end', async () => {
    const talking = open('floods-stderr');
    const dying = open('floods-stderr', { args: ['dies'] });
    await talking.tracker.issuesByIds(['1'], NEVER);
    const before = process.memoryUsage().rss;

    const { issues } = await talking.tracker.issuesByStates(['Todo'], NEVER);
    const { message } = await errorOf(dying.tracker.issuesByStates(['Todo'], NEVER));

    expect(issues).toHaveLength(1);
    expect(message).toContain('the last word');
    expect(message.length).toBeLessThan(1_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });

  test('lines are split at line ends in chunks of any size', () => {
    const bytes = Buffer.from('Ünï\n\n日本語\r\n🧪');
    for (const size of [1, 2, 3, 7, 100]) {
      const lines = new ByteLines(1_000);
      const cut: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        for (const line of lines.push(bytes.subarray(at, at + size))) cut.push(line.toString());
      }
      expect([...cut, lines.rest().toString()]).toEqual(['Ünï', '', '日本語\r', '🧪']);
    }
  });

  test('a line over the limit ends the splitting', () => {
    const lines = new ByteLines(5);

    expect(lines.push(Buffer.from('12345\n123')).map(String)).toEqual(['12345']);
    expect(lines.push(Buffer.from('456\nnext\n')).map(String)).toEqual([]);
    expect(lines.isOver).toBe(true);
  });

  test('the kept end of a long output begins with a whole line', () => {
    const last = new LastBytes(10);
    for (const piece of ['first\n', 'second\n', 'third']) last.push(Buffer.from(piece));

    expect(last.text()).toBe('third');
  });
});

describe('its end', () => {
  test.each([[['silent']], [[]]])('a grandchild that holds stdout is ended and delays no request: %j', async (args) => {
    const { tracker, living } = open('holds-stdout', { args });

    const read = await tracker.issuesByStates(['Todo'], NEVER).catch((error: Error) => error.message);

    if (args.length === 0) expect(read).toMatchObject({ issues: [{ id: '1' }] });
    else expect(read).toContain('exited with code 0 before it had answered');
    await tracker.close();
    expect(living()).toBe(0);
  });

  test('a cancelled request ends at once, with its process', async () => {
    const { tracker, log, living } = open('hangs', { args: ['issues_by_ids'] });
    const controller = new AbortController();
    const asked = errorOf(tracker.issuesByIds(['1'], controller.signal));
    await expect.poll(log).toContain('issues_by_ids');

    controller.abort();

    expect((await asked).message).toContain('had not answered when the request was cancelled');
    await expect.poll(living, { timeout: 5_000 }).toBe(0);
  });
});

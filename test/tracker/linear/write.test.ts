import { describe, expect, test } from 'vitest';
import { type FakeLinear, startFakeLinear } from '../../support/trackers/fake-linear.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function withIssue(fields: Partial<Omit<FakeIssue, 'id'>> = {}) {
  const fake = await startFakeLinear();
  const issue = fake.add(fields);
  const tracker = openFake(fake);
  return { fake, issue, update: (change: object) => tracker.update(issue.id, change, NEVER) };
}

const sent = ({ server }: FakeLinear) =>
  server.requests.flatMap(({ body }) => /(?:query|mutation) Baton(\w+)/.exec(body.query)?.[1] ?? []);

describe('moves', () => {
  test('use the state of that name in the team of the issue', async () => {
    const { fake, issue, update } = await withIssue();
    fake.extra.set(issue.id, { team: 'OPS' });

    const { state } = await update({ state: 'waiting' });

    expect([state, issue.state]).toEqual(['Waiting', 'Waiting']);
    expect(fake.server.requests.at(-1)?.body.variables).toEqual({ id: issue.id, stateId: 'state-OPS-Waiting' });
  });

  test('a state of another team is refused, with the states of the issue’s team', async () => {
    const { fake, issue, update } = await withIssue();
    fake.extra.set(issue.id, { team: 'OPS' });

    await expect(update({ state: 'In Review', comment: 'x' })).rejects.toMatchObject({
      code: 'tracker_refused',
      message: expect.stringMatching(/"In Review" is not a state of team OPS.*Use one of: Todo, Waiting, Done\./),
    });
    expect([issue.state, issue.comments]).toEqual(['Todo', []]);
    expect(sent(fake)).toEqual(['Moves']);
  });

  test('to the current state send nothing', async () => {
    const { fake, update } = await withIssue({ state: 'In Review' });

    expect(await update({ state: ' in review ' })).toEqual({ state: 'In Review' });
    expect(sent(fake)).toEqual(['Moves']);
  });

  test('the comment is sent before the move, which may end the run', async () => {
    const { fake, update } = await withIssue();

    await update({ state: 'Done', comment: 'Did it.' });

    expect(sent(fake)).toEqual(['Moves', 'Comment', 'Move']);
  });

  test('the result is the state after the automation of the workspace', async () => {
    const { fake, issue, update } = await withIssue();
    const moved = { issueUpdate: { success: true, issue: { id: issue.id, state: { name: 'Duplicate' } } } };
    fake.server.fault = ({ body }) => (body.query.includes('BatonMove(') ? { body: { data: moved } } : null);

    expect(await update({ state: 'Done' })).toEqual({ state: 'Duplicate' });
  });
});

describe('a change that Linear refuses is reported to the agent', () => {
  test.each([
    ['a move', { state: 'Done' }, 'did not move it to "Done"'],
    ['a comment', { comment: 'x' }, 'did not take the comment'],
  ])('%s without success', async (_what, change, message) => {
    const { fake, update } = await withIssue();
    fake.isDeaf = true;

    await expect(update(change)).rejects.toMatchObject({
      code: 'tracker_refused',
      message: expect.stringContaining(message),
    });
  });

  test.each([{ archivedAt: '2026-02-01T00:00:00Z' }, { trashed: true }])(
    'an archived or deleted issue: %j',
    async (extra) => {
      const { fake, issue, update } = await withIssue();
      fake.extra.set(issue.id, extra);

      await expect(update({ comment: 'x' })).rejects.toMatchObject({ code: 'tracker_refused' });
      expect(issue.comments).toEqual([]);
    },
  );

  test('the message of Linear is on one line, without the token', async () => {
    const { fake, update } = await withIssue();
    const extensions = { code: 'INPUT_ERROR', userPresentableMessage: `No\n\u001b[31mway with ${fake.token}` };
    fake.server.fault = () => ({
      body: { errors: [{ message: 'Argument Validation Error', extensions }], data: null },
    });

    const error = await update({ state: 'Done' }).catch((thrown: Error) => thrown);

    expect(error).toMatchObject({ code: 'tracker_refused', message: expect.stringContaining('No') });
    expect((error as Error).message).not.toMatch(/\p{Cc}|canary/u);
  });

  test('a response without the issue is an error of the tracker', async () => {
    const { fake, update } = await withIssue();
    fake.server.fault = () => ({ body: { data: { issue: { id: 'x' } } } });

    await expect(update({ state: 'Done' })).rejects.toMatchObject({ code: 'tracker_response' });
  });
});

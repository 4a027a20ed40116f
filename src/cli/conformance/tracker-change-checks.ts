import { stateKey } from '../../domain/issue.js';
import type { Fields } from '../../domain/json.js';
import { type Check, CheckFailure, fail, info, passed, skipped, type Verdict } from './checks.js';
import { errorCodeOf, fieldText, listIn, optionalResultIn, resultIn, type TrackerBench } from './tracker-bench.js';
import { NO_SUCH } from './tracker-read-checks.js';

const NOT_ALLOWED = 'it changes an issue; name one that may be changed with --write <id>';
const MARK = 'baton tracker test';
const COMMENT = `Written by \`${MARK}\`; it can be deleted.\n\nWith "quotes", $(true), \\ and Ünïcödé 🧪.`;

/** Run only with `--write`, because the changes are visible in the tracker. */
export const CHANGE_CHECKS: readonly Check<TrackerBench>[] = [
  {
    name: 'comment',
    law: 'comments on an issue',
    async run(bench) {
      const { writeId } = bench.options;
      if (writeId === null) return skipped(NOT_ALLOWED);
      const { conversation } = bench;
      const id = fieldText(await recordToChange(bench, writeId), 'id');
      const commented = await conversation.send('comment', { issue_id: id, body: COMMENT });
      if (optionalResultIn(commented) === null) return info('it does not, so agents cannot comment');
      const read = await conversation.send('comments', { issue_id: id });
      if (errorCodeOf(read) === 'unsupported')
        return passed('but the comment cannot be read back, because it does not know `comments`');
      const bodies = listIn(resultIn(read), 'comments', read).map(({ body }) => String(body));
      if (bodies.some((body) => body.includes(MARK))) return passed();
      return fail('reported that it had commented, but the comment is not there', 'Write it before you answer.', read);
    },
  },
  {
    name: 'move',
    law: 'moves an issue to another state, and back',
    async run(bench) {
      const { writeId, states } = bench.options;
      if (writeId === null) return skipped(NOT_ALLOWED);
      const record = await recordToChange(bench, writeId);
      const [id, state] = [fieldText(record, 'id'), fieldText(record, 'state')];
      const described = bench.description?.states ?? [];
      const others = (described.length > 0 ? described : states).filter((each) => stateKey(each) !== stateKey(state));
      return moveAndBack(bench, { id, state, others });
    },
  },
  {
    name: 'change_missing',
    law: 'refuses to change an issue that does not exist',
    async run({ conversation, options }) {
      if (options.writeId === null) return skipped(NOT_ALLOWED);
      const exchange = await conversation.send('comment', { issue_id: NO_SUCH, body: COMMENT });
      const code = errorCodeOf(exchange);
      if (code === 'unsupported') return skipped('it does not know `comment`');
      if (code === 'not_found' || code === 'refused') return passed();
      const problem = code === null ? 'did not' : `answered with the error ${code}`;
      const action = 'Answer {"id": …, "error": {"code": "not_found", "message": "…"}}: the agent gets the message.';
      return fail(problem, action, exchange);
    },
  },
];

interface Move {
  readonly id: string;
  readonly state: string;
  readonly others: readonly string[];
}

/** Uses the first other state that the tracker accepts. */
async function moveAndBack(bench: TrackerBench, { id, state, others }: Move): Promise<Verdict> {
  for (const other of others) {
    const there = await bench.conversation.send('move', { issue_id: id, state: other });
    const code = errorCodeOf(there);
    if (code === 'unsupported') return info('it does not, so agents cannot move issues');
    if (code === 'refused') continue;
    try {
      resultIn(there);
      await expectState(bench, id, other);
      const back = await bench.conversation.send('move', { issue_id: id, state });
      if (errorCodeOf(back) !== null) fail(`could not move it back from "${other}"`, 'Let it go both ways.', back);
      resultIn(back);
      await expectState(bench, id, state);
    } catch (error) {
      throw error instanceof CheckFailure ? await withIssueRestored(bench, { id, state }, error) : error;
    }
    return passed(`"${state}", "${other}", "${state}"`);
  }
  if (others.length === 0)
    return skipped('no other state is known; list them with `describe`, or name some with --states');
  return info(`it refused every other state: ${others.join(', ')}`);
}

async function expectState(bench: TrackerBench, id: string, state: string): Promise<void> {
  const { exchange, records } = await bench.readIssues('issues_by_ids', { ids: [id] });
  const actual = fieldText(records[0] ?? {}, 'state');
  if (stateKey(actual) === stateKey(state)) return;
  fail(
    `reported that it had moved ${id} to "${state}", but it is in "${actual}"`,
    'Move it before you answer.',
    exchange,
  );
}

/** After a failed move, moves the issue back, or asks the user to do so. */
async function withIssueRestored(
  bench: TrackerBench,
  { id, state }: Omit<Move, 'others'>,
  failure: CheckFailure,
): Promise<CheckFailure> {
  const isBack = () =>
    expectState(bench, id, state).then(
      () => true,
      () => false,
    );
  if (await isBack()) return failure;
  await bench.conversation.send('move', { issue_id: id, state }).catch(() => null);
  if (await isBack()) return failure;
  const { verdict } = failure;
  const action = `${verdict.action ?? ''} Move ${id} back to "${state}" by hand.`.trim();
  return new CheckFailure({ ...verdict, action });
}

async function recordToChange(bench: TrackerBench, id: string): Promise<Fields> {
  const { exchange, records } = await bench.readIssues('issues_by_ids', { ids: [id] });
  const record = records.find((each) => fieldText(each, 'id') === id);
  return record ?? fail(`does not find ${id}`, 'Give --write the id of an issue, not its identifier.', exchange);
}

import { stateKey } from '../../domain/issue.js';
import type { Fields } from '../../domain/json.js';
import { NO_SUCH } from './read-checks.js';
import type { Heard } from './test-bench.js';
import {
  askForIssues,
  type Check,
  CheckEnd,
  fail,
  isUnsupported,
  listIn,
  optionalResultIn,
  passed,
  resultIn,
  skipped,
  type TestBench,
  told,
  wordIn,
} from './test-bench.js';

const UNASKED = 'that changes an issue; name one that may be changed with --write <id>';
const MARK = 'baton tracker test';
const COMMENT = `Written by \`${MARK}\`; nobody needs it.\n\nWith "quotes", $(true), \\ and Ünïcödé 🧪.`;

/** Only with `--write`: what they do stays to be seen by everybody. */
export const CHANGE_CHECKS: readonly Check[] = [
  {
    law: 'comments on an issue',
    async see(bench) {
      if (bench.writeId === null) return skipped(UNASKED);
      const id = wordIn(await recordToChange(bench, bench.writeId), 'id');
      const heard = await bench.talk.ask('comment', { issue_id: id, body: COMMENT });
      if (optionalResultIn(heard) === null) return told('it does not, so that agents cannot comment');
      const seen = await bench.talk.ask('comments', { issue_id: id });
      if (isUnsupported(seen.answer)) return passed('nobody can see it here: it does not know `comments`');
      const bodies = listIn(resultIn(seen), 'comments', seen).map(({ body }) => String(body));
      if (bodies.some((body) => body.includes(MARK))) return passed();
      return fail('said that it had commented, but the comment is not there', 'Write it before you answer.', seen);
    },
  },
  {
    law: 'moves an issue to another state, and back',
    async see(bench) {
      if (bench.writeId === null) return skipped(UNASKED);
      const record = await recordToChange(bench, bench.writeId);
      const [id, state] = [wordIn(record, 'id'), wordIn(record, 'state')];
      const told = bench.description?.states ?? [];
      const others = (told.length > 0 ? told : bench.states).filter((each) => stateKey(each) !== stateKey(state));
      return moveThere(bench, { id, state, others });
    },
  },
  {
    law: 'refuses to change an issue that does not exist',
    async see({ talk, writeId }) {
      if (writeId === null) return skipped(UNASKED);
      const heard = await talk.ask('comment', { issue_id: NO_SUCH, body: COMMENT });
      if (isUnsupported(heard.answer)) return skipped('it does not know `comment`');
      const code = errorCodeOf(heard);
      if (code === 'not_found' || code === 'refused') return passed();
      const why = code === null ? 'did not' : `answered with the error ${code}`;
      return fail(why, 'Answer {"id": …, "error": {"code": "not_found", "message": "…"}}: the agent is told.', heard);
    },
  },
];

interface Move {
  readonly id: string;
  readonly state: string;
  readonly others: readonly string[];
}

/** To the first state that the tracker lets it into. */
async function moveThere(bench: TestBench, { id, state, others }: Move) {
  for (const other of others) {
    const heard = await bench.talk.ask('move', { issue_id: id, state: other });
    if (isUnsupported(heard.answer)) return told('it does not, so that agents cannot move issues');
    if (errorCodeOf(heard) === 'refused') continue;
    try {
      resultIn(heard);
      await expectState(bench, id, other);
      const back = await bench.talk.ask('move', { issue_id: id, state });
      if (errorCodeOf(back) !== null) fail(`could not move it back from "${other}"`, 'Let it go both ways.', back);
      resultIn(back);
      await expectState(bench, id, state);
    } catch (error) {
      throw error instanceof CheckEnd ? await afterPutBack(bench, { id, state }, error) : error;
    }
    return passed(`"${state}", "${other}", "${state}"`);
  }
  if (others.length === 0)
    return skipped('no other state is known; tell them with `describe`, or name some with --states');
  return told(`it refused every other state: ${others.join(', ')}`);
}

async function expectState(bench: TestBench, id: string, state: string): Promise<void> {
  const { heard, records } = await askForIssues(bench, 'issues_by_ids', { ids: [id] });
  const now = wordIn(records[0] ?? {}, 'state');
  if (stateKey(now) === stateKey(state)) return;
  fail(`said that it had moved ${id} to "${state}", but it is in "${now}"`, 'Move it before you answer.', heard);
}

/** Whatever went wrong with a move, the issue is not left where nobody wanted it; or its owner is told. */
async function afterPutBack(bench: TestBench, { id, state }: Omit<Move, 'others'>, end: CheckEnd): Promise<CheckEnd> {
  const isBack = () =>
    expectState(bench, id, state).then(
      () => true,
      () => false,
    );
  if (await isBack()) return end;
  await bench.talk.ask('move', { issue_id: id, state }).catch(() => null);
  if (await isBack()) return end;
  const { verdict } = end;
  return new CheckEnd({ ...verdict, action: `${verdict.action ?? ''} Move ${id} back to "${state}" by hand.`.trim() });
}

async function recordToChange(bench: TestBench, id: string): Promise<Fields> {
  const { heard, records } = await askForIssues(bench, 'issues_by_ids', { ids: [id] });
  const record = records.find((each) => wordIn(each, 'id') === id);
  return record ?? fail(`does not find ${id}`, 'Give --write the id of an issue, not its identifier.', heard);
}

function errorCodeOf({ answer }: Heard): string | null {
  return typeof answer !== 'string' && answer.kind === 'error' ? answer.error.code : null;
}

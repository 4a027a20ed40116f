import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { Fault } from './coverage.js';
import type { Life } from './life.js';
import type { World } from './world.js';

/** Operators send requests to the daemon, sensible or not. */
export function operators(world: World): void {
  const { random, board, life } = world;
  if (!life) return;
  const issueId = random.chance(0.6) ? world.anyClaimedId() : board.anyId();
  const acts: readonly (readonly [number, () => void])[] = [
    [4, () => say(world, life, 'operator: pause', { type: 'pause_requested' })],
    [10, () => say(world, life, 'operator: resume', { type: 'resume_requested' })],
    [4, () => say(world, life, 'operator: stop', { type: 'stop_requested', issueId })],
    [6, () => say(world, life, 'operator: retry', { type: 'retry_requested', issueId })],
    [8, () => answerSomebody(world)],
    [2, () => say(world, life, 'operator: message', { type: 'message_given', issueId, text: 'hurry' })],
    [4, () => say(world, life, 'operator: refresh', { type: 'refresh_requested' })],
    [world.killer.waitsFor('exit') ? 30 : 2, () => shutdown(world, life)],
  ];
  random.weighted(acts, () => {})();
}

/** Answers one open question of an active run or a parked issue. */
export function answerSomebody(world: World): void {
  const { life, random } = world;
  const open = Object.entries(life?.state?.claims ?? {}).flatMap(([issueId, { status }]) => {
    if (status.kind === 'running') return status.run.questions.map(({ id }) => ({ issueId, questionId: id }));
    return status.kind === 'parked' && status.question ? [{ issueId, questionId: status.question.id }] : [];
  });
  const chosen = random.pick(open);
  if (life && chosen)
    say(world, life, 'operator: answer', { type: 'answer_given', ...chosen, answer: { kind: 'accept' } });
}

function shutdown(world: World, life: Life): void {
  const { random, time } = world;
  say(world, life, 'operator: shutdown', { type: 'shutdown_requested' });
  if (!random.chance(0.2)) return;
  time.after(random.wait(100, 20_000), () =>
    say(world, life, 'operator: second signal', { type: 'shutdown_requested' }),
  );
}

function say(world: World, life: Life, fault: Fault, event: OrchestratorEvent): void {
  if (!life.loop || life.isDead || world.isCalm) return;
  world.happened(fault, 'issueId' in event ? event.issueId : '');
  if (event.type === 'pause_requested' || event.type === 'resume_requested') world.laws.operatorSaid(event.type);
  if (event.type === 'retry_requested') world.laws.deaths.retried(event.issueId);
  if (event.type === 'refresh_requested') world.laws.limits.wished();
  life.dispatch(event);
}

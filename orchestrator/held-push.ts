import type { Claim, ResumeThread, RunFacts } from '../src/domain/claim.js';
import type { StopReason } from '../src/domain/run.js';
import type { Question } from '../src/domain/run-signal.js';

/*
 * A held push: a person decides whether the work of a run is pushed. The agent has usually moved its issue to its end by then. So the
 * claim stays until the push is decided and done, and only then the workspace goes.
 */

/** The open question of a run about a held push. */
export function openPush({ questions }: Pick<RunFacts, 'questions'>): Question | null {
  return questions.find(({ heldPush }) => heldPush !== undefined) ?? null;
}

/** The question about a held push whose answer the next run carries out. That run starts no agent. */
export function answeredPush(resume: ResumeThread | null): Question | null {
  const question = resume?.answer?.question ?? null;
  return question?.heldPush === undefined ? null : question;
}

/** A run that is not stopped because its issue has moved: it waits for the answer about its push, or pushes. */
export function isAboutPush(run: Pick<RunFacts, 'questions' | 'resume'>): boolean {
  return openPush(run) !== null || answeredPush(run.resume) !== null;
}

/** The push of a claim without a run is undecided or not done. */
export function awaitsPush({ status }: Pick<Claim, 'status'>): boolean {
  if (status.kind === 'running') return false;
  return status.kind === 'parked' ? status.question?.heldPush !== undefined : answeredPush(status.resume) !== null;
}

/** The work of an issue is over, but the issue is still for this daemon. */
export function hasMovedOn(standing: StopReason | 'active'): boolean {
  return standing === 'terminal' || standing === 'inactive';
}

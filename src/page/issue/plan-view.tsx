import type { PlanStep } from '../../status/shapes/issue-shape.js';
import { shownLine } from '../model/shown-text.js';

const MARKS = { completed: '✓', inProgress: '▸', pending: '·' } as const;
const WORDS = { completed: 'done', inProgress: 'now', pending: 'to do' } as const;

/** The plan of the agent, as it told it last. */
export function PlanView({ plan }: { readonly plan: readonly PlanStep[] }) {
  if (plan.length === 0) return null;
  const done = plan.filter(({ status }) => status === 'completed').length;
  return (
    <section class="plan" aria-labelledby="plan-title">
      <h3 id="plan-title">
        Plan{' '}
        <span class="count">
          {done} of {plan.length}
        </span>
      </h3>
      <ol>
        {plan.map(({ step, status }, at) => (
          <li key={at} class={`plan-${status}`}>
            <span class="mark" role="img" aria-label={WORDS[status]}>
              {MARKS[status]}
            </span>
            <bdi>{shownLine(step)}</bdi>
          </li>
        ))}
      </ol>
    </section>
  );
}

import type { IssueView, RunView } from '../../status/shapes/issue-shape.js';
import { issueHref } from '../model/route.js';
import { runCost } from '../model/run-cost.js';
import { outcomeWords } from '../model/words.js';
import { Ago } from '../parts/time.js';

/** Its runs, the newest first: how each ended and what it cost. */
export function RunList({ issue, selected }: { readonly issue: IssueView; readonly selected: string | null }) {
  if (issue.history.length === 0) return null;
  const left = issue.runs - issue.history.length;
  return (
    <section class="run-list" aria-labelledby="runs-title">
      <h2 id="runs-title">
        Runs <span class="count">{issue.runs}</span>
      </h2>
      <ul>
        {issue.history.map((run) => (
          <li key={run.run_id}>
            <a
              class="run"
              href={issueHref(issue.issue_identifier, run.run_id)}
              aria-current={run.run_id === selected ? 'true' : undefined}
            >
              <span class={`dot ${dotOf(run)}`} aria-hidden="true" />
              <span class="run-number">Run {run.run_number}</span>
              <span class="run-outcome">{outcomeWords(run)}</span>
              <span class="faint">
                <Ago at={run.started_at} /> · {runCost(run)}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {left > 0 ? <p class="faint">{left} older ones are not listed.</p> : null}
    </section>
  );
}

function dotOf({ outcome }: RunView): string {
  if (outcome === null) return 'dot-live';
  return outcome === 'success' ? 'dot-good' : outcome === 'cancelled' ? 'dot-warn' : 'dot-bad';
}

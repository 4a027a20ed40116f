import type { StateView } from '../../api/schemas.js';
import { formatTokens } from '../../text/format-numbers.js';
import { formatDuration } from '../../text/format-time.js';
import { Ago, Bar, BudgetBar, Elapsed } from '../components/controls.js';
import { memo } from '../components/ticker.js';
import { agentLimits } from '../model/numbers.js';
import { shownLine } from '../model/shown-text.js';

type Part<K extends keyof StateView> = Pick<StateView, K>;

/** Tokens, slots, the tracker and the limits of the account. */
export function Today({ state }: { readonly state: StateView }) {
  return (
    <section class="facts" aria-labelledby="today-title">
      <h2 id="today-title">Today</h2>
      <dl>
        <Spending tokens_today={state.tokens_today} slots={state.slots} />
        <Tracker poll={state.poll} />
        <Limits rate_limits={state.rate_limits} />
        <dt>Since the start</dt>
        <dd>
          {formatTokens(state.codex_totals.total_tokens)} tokens in and out
          <span class="faint">
            up <Elapsed from={state.daemon.started_at} />
          </span>
        </dd>
      </dl>
    </section>
  );
}

const Spending = memo(function Facts({ tokens_today: tokens, slots }: Part<'tokens_today' | 'slots'>) {
  return (
    <>
      <dt>Tokens</dt>
      <dd>
        <BudgetBar budget={tokens} unit="today" />
        {tokens.limit === null ? <span class="faint">no daily cap</span> : null}
      </dd>
      <dt>Slots</dt>
      <dd>
        <span class="budget">
          <span class="budget-text">
            {slots.taken} of {slots.limit} taken
          </span>
          <Bar share={slots.limit === 0 ? 0 : Math.min(1, slots.taken / slots.limit)} isHarmless={true} />
        </span>
      </dd>
    </>
  );
}, 'Spending');

const Tracker = memo(function Facts({ poll }: Part<'poll'>) {
  return (
    <>
      <dt>Tracker</dt>
      <dd>
        <span>
          {poll.health === 'failed' ? <strong class="is-bad">cannot be read </strong> : null}
          {poll.last === null ? 'not read yet' : null}
          {poll.last === null ? null : poll.health === 'failed' ? 'last seen ' : 'read '}
          <Ago at={poll.last} />
        </span>
        <span class="faint">
          {poll.in_flight ? (
            'being read now'
          ) : poll.next === null ? (
            ''
          ) : (
            <>
              next <Ago at={poll.next} />
            </>
          )}
        </span>
        {poll.rate_limit === null ? null : (
          <span class="faint">
            {formatTokens(poll.rate_limit.remaining)} requests left, reset <Ago at={poll.rate_limit.reset_at} />
            {poll.slowed_to_ms === null ? '' : `; read every ${formatDuration(poll.slowed_to_ms)} to save them`}
          </span>
        )}
      </dd>
    </>
  );
}, 'Tracker');

const Limits = memo(function Facts({ rate_limits: reported }: Part<'rate_limits'>) {
  const limits = agentLimits(reported);
  if (limits.length === 0) return null;
  return (
    <>
      <dt>Model account</dt>
      {limits.map((limit) => (
        <dd key={limit.name}>
          <span class="budget">
            <span class="budget-text">
              {Math.round(limit.used * 100)} % of {limit.name}
            </span>
            <Bar share={limit.used} />
          </span>
          {limit.resetsAt === null ? null : (
            <span class="faint">
              reset <Ago at={limit.resetsAt} />
            </span>
          )}
        </dd>
      ))}
    </>
  );
}, 'Limits');

/** Identifies the daemon. */
export const About = memo(function Facts({ daemon, workflow }: Part<'daemon' | 'workflow'>) {
  return (
    <footer class="about">
      <p>
        Baton {shownLine(daemon.version)}, pid {daemon.pid}
      </p>
      <p>
        <span class="path">{shownLine(workflow.path)}</span>
        <span class="faint">
          {' '}
          read <Ago at={workflow.loaded_at} />
        </span>
      </p>
      <p>
        State in <span class="path">{shownLine(daemon.state_dir)}</span>
      </p>
    </footer>
  );
}, 'About');

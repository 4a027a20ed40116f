import type { IssueView, RunView, StateView, Stats, Timeline, TimelineEntry } from '../../src/api/schemas.js';
import { ago, named } from './sample-state.js';

function run(number: number, minutes: number, part: Partial<RunView> = {}): RunView {
  return {
    run_id: `run-231-${number}`,
    run_number: number,
    reason: 'first',
    cause: 'poll',
    author: 'mara',
    attempt: null,
    thread_id: 'thread',
    model: 'gpt-5-codex',
    agent_version: 'codex 0.114.0',
    turns: 2,
    tokens: { input_tokens: 5_400_000, cached_input_tokens: 1_200_000, output_tokens: 96_000, total_tokens: 5_496_000 },
    started_at: ago(minutes),
    ended_at: ago(minutes - 11),
    outcome: 'failed',
    code: 'turn_failed',
    message: 'the model stopped: context window exceeded',
    has_transcript: true,
    ...part,
  };
}

const RULES = [
  'complete',
  'not_terminal',
  'active_state',
  'dispatchable',
  'not_blocked',
  'blockers_at_rest',
  'trusted_author',
  'required_labels',
  'budget_left',
].map((rule) => ({ rule, pass: true, why: null, action: null, params: {} }));

/** SHOP-231 of the working day: in its second run. */
export function runningIssue(state: StateView): IssueView {
  const running = state.running.find((entry) => entry.issue_identifier === 'SHOP-231') ?? null;
  const current = run(2, 6.5, {
    run_id: running?.run_id ?? 'run-SHOP-231',
    reason: 'retry',
    cause: 'retry',
    attempt: 1,
    ended_at: null,
    outcome: null,
    code: null,
    message: null,
    turns: 1,
  });
  return {
    ...named('SHOP-231', 'Cart loses its coupon after a login', 'In Progress'),
    generated_at: ago(0),
    status: 'running',
    priority: 2,
    labels: ['baton', 'bug', 'checkout'],
    author: { login: 'mara', trusted: true },
    blocked_by: [{ id: 'shop-220', identifier: 'SHOP-220', state: 'Done' }],
    created_at: ago(3_000),
    updated_at: ago(40),
    runs: 2,
    budget: { spent: 8_310_000, limit: 10_000_000 },
    running,
    asking: null,
    retrying: null,
    parked: null,
    done: null,
    ready: false,
    why_not_started: null,
    why_not_started_reason: null,
    rules: RULES,
    history: [current, run(1, 40)],
    workspace: { path: '/home/mara/workspaces/SHOP-231' },
    attempts: { restart_count: 0, current_retry_attempt: 1 },
    logs: { codex_session_logs: [] },
    recent_events: [],
    last_error: null,
    tracked: {},
    retry: null,
  };
}

/** SHOP-239: blocked. */
export function blockedIssue(state: StateView): IssueView {
  const rules = RULES.map((rule) =>
    rule.rule === 'not_blocked'
      ? {
          ...rule,
          pass: false,
          why: 'it waits for SHOP-236 (To Do)',
          action: 'Finish SHOP-236, or remove the dependency.',
        }
      : rule,
  );
  return {
    ...runningIssue(state),
    ...named('SHOP-239', 'Pay by invoice'),
    status: 'ineligible',
    blocked_by: [{ id: 'shop-236', identifier: 'SHOP-236', state: 'To Do' }],
    running: null,
    runs: 0,
    budget: { spent: 0, limit: 10_000_000 },
    history: [],
    rules,
  };
}

const entry = (
  minutes: number,
  kind: TimelineEntry['kind'],
  text: string,
  detail: string | null = null,
): TimelineEntry => ({
  at: ago(minutes),
  kind,
  text,
  detail,
});

export const DIFF = `diff --git a/src/cart/merge-carts.ts b/src/cart/merge-carts.ts
index 3f1c2aa..9b0d1ee 100644
--- a/src/cart/merge-carts.ts
+++ b/src/cart/merge-carts.ts
@@ -12,9 +12,14 @@ export function mergeCarts(guest: Cart, member: Cart): Cart {
   const items = mergeItems(guest.items, member.items);
-  return { ...member, items };
+  // The coupon was typed in before the login: it is what the customer wants now.
+  const coupon = guest.coupon ?? member.coupon;
+  return { ...member, items, coupon };
 }
diff --git a/test/cart/merge-carts.test.ts b/test/cart/merge-carts.test.ts
index 55b01c4..1d2c3b4 100644
--- a/test/cart/merge-carts.test.ts
+++ b/test/cart/merge-carts.test.ts
@@ -30,3 +30,11 @@ test('items of both carts are kept', () => {
   expect(merged.items).toHaveLength(3);
 });
+
+test('the coupon of the guest survives the login', () => {
+  const merged = mergeCarts(cart({ coupon: 'SPRING' }), cart({ coupon: null }));
+
+  expect(merged.coupon).toBe('SPRING');
+});
`;

export function timelineOf(runId: string, live: boolean): Timeline {
  return {
    run_id: runId,
    live,
    truncated: false,
    entries: [
      entry(6.5, 'run', 'run 2 began (retry)'),
      entry(
        6.4,
        'hook',
        'hook before_run finished (1.2 s)',
        'From ../shop\n * branch main -> FETCH_HEAD\nAlready up to date.',
      ),
      entry(
        6.3,
        'agent',
        'received its prompt',
        'You are working on SHOP-231: Cart loses its coupon after a login\n\nThe run before this one failed: keep the context small.',
      ),
      entry(6.2, 'agent', 'turn 1 began'),
      entry(5.9, 'agent', 'thought: Looking for where carts are merged'),
      entry(
        5.1,
        'agent',
        'ran `rg -n coupon src/cart`, exit 0 (0.1 s)',
        'src/cart/cart.ts:8:  readonly coupon: string | null;\nsrc/cart/merge-carts.ts:14:  return { ...member, items };',
      ),
      entry(3.8, 'problem', 'has trouble and tries again: stream disconnected'),
      entry(2.2, 'agent', 'edited 3 files, +42 −7'),
      entry(
        0.9,
        'agent',
        'ran `npm test -- cart`, exit 0 (6.2 s)',
        ' ✓ test/cart/merge-carts.test.ts (9 tests)\n ✓ test/cart/cart.test.ts (21 tests)',
      ),
    ],
    plan: [
      { step: 'Find where guest and member carts are merged', status: 'completed' },
      { step: 'Write a test that loses the coupon', status: 'completed' },
      { step: 'Keep the coupon of the guest', status: 'inProgress' },
      { step: 'Run all tests and describe the change', status: 'pending' },
    ],
    diff: DIFF,
  };
}

/** Thirty days with weekends, the last one today. */
export function sampleStats(): Stats {
  const days = Array.from({ length: 30 }, (_, at) => {
    const date = new Date(Date.now() - (29 - at) * 86_400_000);
    const isFree = [0, 6].includes(date.getDay());
    const wave = isFree ? 0.12 : 0.55 + 0.4 * Math.abs(Math.sin(at * 1.7));
    const runs = Math.round(wave * 26);
    const tokens = Math.round(wave * 31_000_000);
    const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
      .map((part) => String(part).padStart(2, '0'))
      .join('-');
    return {
      day,
      tokens,
      input_tokens: tokens * 4,
      cached_input_tokens: tokens * 3,
      output_tokens: Math.round(tokens / 20),
      runs,
      failed: Math.round(runs * 0.15),
      done: Math.round(runs * 0.6),
    };
  });
  return { days };
}

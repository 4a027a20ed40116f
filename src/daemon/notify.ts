import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import type { Containment } from '../../runner/contain/process.js';
import type { Clock } from '../domain/clock.js';
import type { Workflow } from '../domain/workflow.js';
import type { Redactor } from '../logging/redact.js';
import { type CollapseState, collapse, EMPTY_COLLAPSE, flushCollapse } from '../notify/collapse.js';
import { createNotifier } from '../notify/deliver.js';
import type { Notice } from '../notify/notice.js';
import { noticeJson } from '../notify/notice-json.js';
import { noticesBetween } from '../notify/notices-between.js';
import { neutraliseJson } from '../text/neutralise.js';
import { type DailyReport, startDailyReport } from './daily-report.js';
import { notifyTargets } from './notify-targets.js';

/** Thousands of states a second are possible. A change that is undone within this time is not reported. */
const GATHER_MS = 250;

interface NotifyOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly redactor: Redactor;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly containment: Containment;
  readonly stateDir: string;
  /** For commands, as their TMPDIR. */
  readonly tmpDir: string;
  /** The workflow in force. */
  workflow(): Workflow;
  /** The address of the page of an issue, or of the whole page, without the token. Returns null when there is no page. */
  page(identifier: string | null): string | null;
  createDailyReport(): Promise<DailyReport>;
}

export interface Notify {
  /** Called after every decision, with the state before it. Cheap; never throws. */
  decided(before: State, after: State): void;
  /** Sends the notices that are held back. Waits a few seconds at most, and not at all when forced. */
  close(isForced?: boolean): Promise<void>;
}

/** Sends the notices that the settings in force ask for. Errors are logged and affect nothing else. */
export function startNotify(options: NotifyOptions): Notify {
  const { clock, log, redactor } = options;
  let unseen: { readonly before: State; after: State } | null = null;
  let held: CollapseState = EMPTY_COLLAPSE;
  let isClosed = false;
  let [cancelReview, cancelWake] = [() => {}, () => {}];

  const notifier = createNotifier({
    clock,
    targets: () => notifyTargets({ ...options, workflow: options.workflow() }),
    encode: (notice, missed) => {
      const context = { mask: redactor.mask, workflow: options.workflow(), page: options.page };
      return neutraliseJson(redactor.maskJson(JSON.stringify(noticeJson(notice, missed, context))));
    },
    onFailure: (failure) => log.warn(failure, 'notice could not be delivered'),
    onRecovered: (target, missed) => log.info({ target, missed }, 'notices are delivered again'),
  });

  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, 'notices could not be made');
    }
  };

  const send = (notices: readonly Notice[]): void => {
    cancelWake();
    const now = clock.now().awakeMs;
    const { state, ready, wakeMs } = collapse(held, notices, now);
    held = state;
    for (const notice of ready) notifier.send(notice);
    if (wakeMs !== null) cancelWake = clock.after(wakeMs - now, () => guarded(() => send([])));
  };

  const review = (): void => {
    if (unseen === null) return;
    const { before, after } = unseen;
    unseen = null;
    const { on } = options.workflow().config.notify;
    const notices = noticesBetween(before, after, clock.now().wallMs);
    const wanted = notices.filter(({ kind }) => kind !== 'digest' && on.includes(kind));
    if (wanted.length > 0) send(wanted);
  };

  const daily = startDailyReport({
    clock,
    log,
    stateDir: options.stateDir,
    reportAt: () => {
      const { notify } = options.workflow().config;
      return hasTarget(notify) && notify.on.includes('daily_report') ? notify.reportAt : null;
    },
    create: options.createDailyReport,
    send: (notice) => guarded(() => void (isClosed || send([notice]))),
  });

  return {
    decided(before, after) {
      const isSame =
        before.claims === after.claims && before.finished === after.finished && before.holds === after.holds;
      if (isSame || isClosed) return;
      if (unseen !== null) unseen.after = after;
      else if (hasTarget(options.workflow().config.notify)) {
        unseen = { before, after };
        cancelReview = clock.after(GATHER_MS, () => guarded(review));
      }
    },
    async close(isForced = false) {
      guarded(review);
      isClosed = true;
      cancelReview();
      cancelWake();
      daily.close();
      for (const notice of flushCollapse(held)) notifier.send(notice);
      await notifier.close(isForced);
    },
  };
}

function hasTarget({ url, command }: Workflow['config']['notify']): boolean {
  return url !== null || command !== null;
}

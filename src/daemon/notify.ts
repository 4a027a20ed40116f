import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import type { Containment } from '../../runner/contain/process.js';
import type { Clock } from '../domain/clock.js';
import type { Workflow } from '../domain/config.js';
import type { JsonObject } from '../domain/json.js';
import { neutraliseJson } from '../text/neutralise.js';
import type { Redactor } from '../logging/redact.js';
import { type Collapse, collapse, collapseEnd, NOTHING_COLLAPSED } from '../notify/collapse.js';
import { createNotifier } from '../notify/deliver.js';
import type { Notice } from '../notify/notice.js';
import { noticeJson } from '../notify/notice-json.js';
import { noticesBetween } from '../notify/notices-between.js';
import { startDailyReport } from './notify-report.js';
import { notifyTargets } from './notify-targets.js';

/** States come by the thousand in a second; people read slower. What comes and goes within this time is no news. */
const LOOK_MS = 250;

export interface NotifyOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly redactor: Redactor;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly containment: Containment;
  readonly stateDir: string;
  /** For commands, as their TMPDIR. */
  readonly tmpDir: string;
  /** In force now. */
  workflow(): Workflow;
  /** Of the daemon's page, for an issue or for all, without the token; `null`: there is none. */
  page(identifier: string | null): string | null;
  dailyReport(): Promise<{ readonly text: string; readonly report: JsonObject }>;
}

export interface Notify {
  /** After every decision, with the state before it. Cheap, and never throws. */
  decided(before: State, after: State): void;
  /** Sends what is held back, and waits for it for a few seconds at most; not when it is in a hurry. */
  close(isHurried?: boolean): Promise<void>;
}

/** Tells people what they want to hear about, by the settings of the moment. Whatever fails here is logged, and disturbs nothing else. */
export function startNotify(options: NotifyOptions): Notify {
  const { clock, log, redactor } = options;
  let unseen: { readonly before: State; after: State } | null = null;
  let held: Collapse = NOTHING_COLLAPSED;
  let isClosed = false;
  let [cancelLook, cancelWake] = [() => {}, () => {}];

  const notifier = createNotifier({
    clock,
    targets: () => notifyTargets({ ...options, workflow: options.workflow() }),
    encode: (told, missed) => {
      const context = { mask: redactor.mask, workflow: options.workflow(), page: options.page };
      return neutraliseJson(redactor.maskJson(JSON.stringify(noticeJson(told, missed, context))));
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

  const tell = (notices: readonly Notice[]): void => {
    cancelWake();
    const now = clock.now().awakeMs;
    const { state, told, wakeMs } = collapse(held, notices, now);
    held = state;
    for (const one of told) notifier.tell(one);
    if (wakeMs !== null) cancelWake = clock.after(wakeMs - now, () => guarded(() => tell([])));
  };

  const look = (): void => {
    if (unseen === null) return;
    const { before, after } = unseen;
    unseen = null;
    const { on } = options.workflow().config.notify;
    const notices = noticesBetween(before, after, clock.now().wallMs);
    const wanted = notices.filter(({ kind }) => kind !== 'digest' && on.includes(kind));
    if (wanted.length > 0) tell(wanted);
  };

  const daily = startDailyReport({
    clock,
    log,
    stateDir: options.stateDir,
    reportAt: () => {
      const { notify } = options.workflow().config;
      return hasTarget(notify) && notify.on.includes('daily_report') ? notify.reportAt : null;
    },
    make: options.dailyReport,
    tell: (notice) => guarded(() => void (isClosed || tell([notice]))),
  });

  return {
    decided(before, after) {
      const isSame =
        before.claims === after.claims && before.finished === after.finished && before.holds === after.holds;
      if (isSame || isClosed) return;
      if (unseen !== null) unseen.after = after;
      else if (hasTarget(options.workflow().config.notify)) {
        unseen = { before, after };
        cancelLook = clock.after(LOOK_MS, () => guarded(look));
      }
    },
    async close(isHurried = false) {
      guarded(look);
      isClosed = true;
      cancelLook();
      cancelWake();
      daily.close();
      for (const one of collapseEnd(held)) notifier.tell(one);
      await notifier.close(isHurried);
    },
  };
}

function hasTarget({ url, command }: Workflow['config']['notify']): boolean {
  return url !== null || command !== null;
}

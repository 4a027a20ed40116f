import type { StateView } from '../../api/schemas.js';
import type { LockHolder } from '../../store/lock-holder.js';
import { countWords } from './count-words.js';
import { cut, joined, oneLine, wrap } from '../../text/terminal-text.js';
import type { Frame } from '../terminal.js';
import { needsOf } from './needs-you.js';
import { localTimes, since } from '../../text/format-duration.js';

/** A daemon of this user, and what it answered: its state, or why not. */
export interface FoundDaemon {
  readonly holder: LockHolder;
  readonly answer: StateView | { readonly silent: string };
}

/** A few lines for each. Pure. */
export function renderDaemons(daemons: readonly FoundDaemon[], frame: Frame): string {
  if (daemons.length === 0) {
    return `No daemon of yours is running, and there is no WORKFLOW.md in this folder.\nTo make one: baton init\n`;
  }
  const blocks = daemons.map((one) => daemonLines(one, frame).join('\n'));
  return `${[...blocks, `More about one of them: baton status <workflow>`].join('\n\n')}\n`;
}

function daemonLines({ holder, answer }: FoundDaemon, { nowMs, width, paint }: Frame): string[] {
  const up = since(holder.since, nowMs);
  const pid = `pid ${holder.pid}${up === null ? '' : `, up ${up}`}`;
  const path = paint.bold(cut(oneLine(holder.workflow), width));
  const told = (text: string, style: 'yellow' | 'red') =>
    wrap(oneLine(text), width - 2, 3).map((row) => `  ${paint[style](row)}`);
  if ('silent' in answer) return [path, ...told(`${pid}; it gives no status: ${answer.silent}`, 'red')];
  const style = needsOf(answer) > 0 ? 'yellow' : 'dim';
  const facts = joined([...countWords(answer), pid], width - 2).map((row) => `  ${paint[style](row)}`);
  const why = whyNothing(answer, nowMs);
  return [path, ...facts, ...(why === null ? [] : told(why, 'yellow'))];
}

function whyNothing({ why_idle, hold, paused }: StateView, nowMs: number): string | null {
  if (why_idle !== null) return localTimes(why_idle, nowMs);
  if (hold !== null) return `On hold (${hold.code}): ${hold.message}`;
  return paused === null ? null : 'Paused: nothing new is started.';
}

import type { StateView } from '../api/schemas.js';
import type { DaemonTarget } from './daemon-place.js';
import { followDaemon } from './follow-daemon.js';
import { untilInterrupted } from './client/until-interrupted.js';
import type { Io } from './io.js';
import { changeKey } from './status/change-key.js';
import { cut, oneLine, wrap } from '../text/terminal-text.js';
import { nextState } from './status/follow-state.js';
import type { Frame } from './terminal.js';
import { openScreen } from './status/live-screen.js';
import { renderStatus } from './status-view.js';
import { rowsOf } from './status/screen-rows.js';
import { heightOfOutput, isTerminal } from './status/terminal-size.js';

/** Shows the status for as long as somebody looks. A daemon that ends is waited for. Throws `ApiError`. */
export async function watchStatus(target: DaemonTarget, io: Io, frame: () => Frame): Promise<number> {
  const interruption = untilInterrupted(io);
  let view: StateView | null = null;
  let gone: string | null = null;
  const screen = openScreen(
    io,
    () => draw(view, gone, frame(), isTerminal(io) ? heightOfOutput(io) : null),
    () => `${view === null ? '' : changeKey(view)} ${gone}`,
  );
  try {
    for await (const news of followDaemon(target, '/api/v1/events', io, interruption.signal)) {
      gone = 'gone' in news ? news.gone : null;
      if ('event' in news) view = nextState(view, news.event);
      screen.update();
    }
    return 0;
  } finally {
    screen.close();
    interruption.restore();
  }
}

function draw(view: StateView | null, gone: string | null, frame: Frame, height: number | null): string {
  const { width, paint } = frame;
  const notice = gone === null ? [] : wrap(oneLine(`Nobody is there: ${gone}`), width, 4).map(paint.red);
  const waits =
    gone === null
      ? ''
      : `${notice.join('\n')}\n${paint.dim(cut('Waiting for it to come back (Ctrl-C ends this). What follows is what it said last.', width))}\n\n`;
  if (view === null)
    return gone === null ? '' : `${notice.join('\n')}\n${paint.dim('Waiting for it (Ctrl-C ends this).')}\n`;
  const whole = `${waits}${renderStatus(view, frame)}`;
  // A window does not scroll: where it is too small, every list gives up some lines rather than the last ones all of theirs.
  const isTooMuch = height !== null && rowsOf(whole.trimEnd(), frame.widest) > height;
  return isTooMuch ? `${waits}${renderStatus(view, { ...frame, height })}` : whole;
}

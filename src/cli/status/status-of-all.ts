import { stateShape } from '../../api/schemas.js';
import type { LockHolder } from '../../store/lock-holder.js';
import { connectDaemon } from '../client.js';
import { listDaemons } from '../client/list-daemons.js';
import { isNotRunning } from '../with-daemon.js';
import type { Io } from '../io.js';
import type { Frame } from '../terminal.js';
import { printJson } from './print-json.js';
import { type FoundDaemon, renderDaemons } from './render-daemons.js';

/** A few lines about every daemon of this user; 1 where there is none. */
export async function statusOfAll(json: boolean, io: Io, frame: Frame): Promise<number> {
  const daemons = await Promise.all((await listDaemons(io)).map((holder) => ask(holder, io)));
  if (json) {
    printJson(
      daemons.map(({ holder, answer }) => ({
        ...asJson(holder),
        ...('silent' in answer ? { state: null, error: answer.silent } : { state: answer, error: null }),
      })),
      io,
    );
  } else io.stdout.write(renderDaemons(daemons, frame));
  return daemons.length === 0 ? 1 : 0;
}

async function ask(holder: LockHolder, io: Io): Promise<FoundDaemon> {
  const { workflow, stateDir } = holder;
  try {
    const client = await connectDaemon({ workflow, stateDir }, io);
    try {
      return { holder, answer: await client.get('/api/v1/state', stateShape) };
    } finally {
      client.close();
    }
  } catch (error) {
    return { holder, answer: { silent: isNotRunning(error) ? NOT_LISTENING : (error as Error).message } };
  }
}

/** Its process is there, though. */
const NOT_LISTENING = 'nobody listens on its socket; it is starting, ending, or of an older version';

function asJson({ pid, since, workflow, stateDir }: LockHolder) {
  return { pid, since, workflow, state_dir: stateDir ?? null };
}

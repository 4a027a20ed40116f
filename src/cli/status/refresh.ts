import { refreshShape } from '../../status/shapes/request-shapes.js';
import { connectDaemon } from '../client.js';
import type { DaemonTarget } from '../daemon-place.js';
import { complainOf } from '../with-daemon.js';
import type { Io } from '../io.js';

/** Asks the daemon to read the tracker now. */
export async function refresh(target: DaemonTarget, io: Io): Promise<number> {
  try {
    const client = await connectDaemon(target, io);
    const { coalesced } = await client.post('/api/v1/refresh', {}, refreshShape).finally(() => client.close());
    io.stdout.write(coalesced ? SOON : NOW);
    return 0;
  } catch (error) {
    return complainOf(error, io);
  }
}

const NOW = 'The tracker is read now.\n';
const SOON = 'The tracker is being read, or about to be: this goes along with it.\n';

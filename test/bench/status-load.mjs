// People and programs that look at a daemon: requests at fixed moments, whether the one before is answered or not, and readers of the stream.
import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { now } from './measure.mjs';

const STATES_PER_SECOND = 20;
const ISSUES_PER_SECOND = 10;
const READERS = 2;

/** Reads for this long and returns the measurements. */
export async function look({ url, identifiers, headers }, seconds) {
  const agent = new Agent({ keepAlive: true });
  const readers = Array.from({ length: READERS }, () => new Reader(`${url}/api/v1/events`, headers));
  try {
    await Promise.all(readers.map((reader) => reader.whole));
    for (const reader of readers) reader.forget();
    const begin = now();
    const [states, issues] = await Promise.all([
      atFixedMoments(STATES_PER_SECOND, seconds, () => ask(`${url}/api/v1/state`, { agent, headers })),
      // Offset from the other requests, because a request right behind a full read would measure that read.
      wait(500 / STATES_PER_SECOND).then(() =>
        atFixedMoments(ISSUES_PER_SECOND, seconds, (n) =>
          ask(`${url}/api/v1/${identifiers[(n * 7919) % identifiers.length]}`, { agent, headers }),
        ),
      ),
    ]);
    const elapsed = (now() - begin) / 1_000;
    const sum = (key) => readers.reduce((total, reader) => total + reader[key], 0) / READERS / elapsed;
    return { states, issues, patches: sum('events'), streamBytes: sum('bytes') };
  } finally {
    for (const reader of readers) reader.close();
    agent.destroy();
  }
}

/** A client that waited for its answers would not ask while the daemon is slow, and would not notice. */
async function atFixedMoments(perSecond, seconds, act) {
  const begin = now();
  const asked = [];
  for (let n = 0; n < perSecond * seconds; n++) {
    await wait(Math.max(0, begin + (n * 1_000) / perSecond - now()));
    asked.push(act(n));
  }
  return Promise.all(asked);
}

function ask(url, options) {
  const begin = now();
  return new Promise((resolve, reject) => {
    get(url, options, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => {
        bytes += chunk.length;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve({ ms: now() - begin, bytes });
        else reject(new Error(`${url} answers ${response.statusCode}`));
      });
    }).on('error', reject);
  });
}

class Reader {
  events = 0;
  bytes = 0;
  #request;

  constructor(url, headers) {
    this.whole = new Promise((resolve, reject) => {
      this.#request = get(url, { headers }, (response) => {
        let rest = '';
        response.on('data', (chunk) => {
          this.bytes += chunk.length;
          const parts = (rest + chunk.toString('latin1')).split('\n\n');
          rest = parts.pop();
          this.events += parts.filter((part) => part.startsWith('event: ')).length;
          if (this.events > 0) resolve();
        });
      }).on('error', reject);
    });
  }

  forget() {
    this.events = 0;
    this.bytes = 0;
  }

  close() {
    this.whole.catch(() => {});
    this.#request.on('error', () => {}).destroy();
  }
}

import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf } from '../../../src/domain/fields.js';
import type { StepContext } from '../executor.js';
import { lastWords, lastWordsMeanwhile } from './last-words.js';
import type { ServiceClient } from './service-client.js';
import { isServiceId } from './service-url.js';
import { SharedCalls } from './shared-calls.js';
import { untilAborted } from './answers.js';

/**
 * Sessions of the sandbox. `session: run`: one for each language, made when the first step needs it, used by all steps of the run (also
 * at the same time) and deleted when the run is over. `session: step`: one for each try of a step, deleted after it. A shared
 * session that the sandbox no longer knows is forgotten: the step fails, the next one makes a new one.
 */
export function withSession<T>(
  language: string,
  client: ServiceClient,
  context: StepContext,
  use: (id: string) => Promise<T>,
): Promise<T> {
  return client.service.session === 'run'
    ? withSharedSession(language, client, context, use)
    : withOwnSession(language, client, context, use);
}

interface RunSessions {
  readonly calls: SharedCalls<string>;
  /** What is to be deleted at the end. */
  readonly open: Set<string>;
}

async function withSharedSession<T>(
  language: string,
  client: ServiceClient,
  context: StepContext,
  use: (id: string) => Promise<T>,
): Promise<T> {
  const { calls, open } = context.run.get('http/sandbox-sessions', () => runSessions(client, context));
  const id = await calls.get(language, context.signal, async (signal) => {
    const made = await create(language, client, signal);
    open.add(made);
    return made;
  });
  try {
    return await use(id);
  } catch (error) {
    // A step beside this one may have found out first and made a new one, which is not to be forgotten with it.
    if (isGone(error) && open.delete(id)) calls.forget(language);
    throw error;
  }
}

function runSessions(client: ServiceClient, context: StepContext): RunSessions {
  const open = new Set<string>();
  context.run.atEnd(async () => {
    await Promise.all(
      [...open].map((id) => lastWords(context, COULD_NOT_DELETE, (signal) => remove(id, client, signal))),
    );
  });
  return { calls: new SharedCalls(), open };
}

async function withOwnSession<T>(
  language: string,
  client: ServiceClient,
  context: StepContext,
  use: (id: string) => Promise<T>,
): Promise<T> {
  const id = await create(language, client, context.signal);
  try {
    return await use(id);
  } finally {
    const removed = lastWordsMeanwhile(context, COULD_NOT_DELETE, (signal) => remove(id, client, signal));
    // A step that is stopped is over at once; what it did before is its outcome all the same.
    await untilAborted(removed, context.signal).catch(() => {});
  }
}

async function create(language: string, client: ServiceClient, signal: AbortSignal): Promise<string> {
  const url = client.url('v1', 'sandbox', 'sessions');
  const { body } = await client.ask({ method: 'POST', url, body: { language }, signal });
  const { id } = fieldsOf(body);
  if (isServiceId(id)) return id;
  throw client.fault('SERVICE_REJECTED', `POST ${url.pathname} answered without a usable id of the session`);
}

const COULD_NOT_DELETE = 'a session of the sandbox could not be deleted';

async function remove(id: string, client: ServiceClient, signal: AbortSignal): Promise<void> {
  const url = client.url('v1', 'sandbox', 'sessions', id);
  await client.tell({ method: 'DELETE', url, signal }).catch((error) => {
    if (!isGone(error)) throw error;
  });
}

function isGone(error: unknown): boolean {
  return error instanceof BatonError && (error.details.status === 404 || error.details.status === 410);
}

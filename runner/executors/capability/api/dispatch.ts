import { type Fields, fieldsOf } from '../../../../src/domain/fields.js';
import type { Json, JsonObject } from '../../../../src/domain/json.js';
import type { ApiAction, ApiModule, ApiRequest, ApiSession } from './api.js';
import { CAPABILITY_API } from './capability.js';
import { CHAT_API } from './chat.js';
import { FS_API } from './files.js';
import { PROJECT_API } from './project.js';
import { SIDE_EXECUTION_API } from './side-execution.js';
import { TERMINAL_API } from './terminal.js';

const MODULES: readonly ApiModule[] = [FS_API, TERMINAL_API, PROJECT_API, CAPABILITY_API, SIDE_EXECUTION_API, CHAT_API];
const MAX_MESSAGE_CHARACTERS = 2_000;

/** Answers any request of an executor, also one that asks for what there is not. Never rejects. */
export async function answerRequest(request: Fields, session: ApiSession): Promise<JsonObject> {
  const found = find(request);
  const head = { type: found?.answer ?? 'errorResponse', requestId: requestIdOf(request.requestId) };
  const refuse = (error: string, code?: string) => ({ ...head, success: false, error, ...(code ? { code } : {}) });
  if (found === null) return refuse(`unsupported: ${nameOf(request)} is not offered here`);
  const { module } = found.of;
  if (!session.context.config.capabilities.modules.includes(module)) {
    return refuse(`unsupported: ${module} is not in capabilities.modules`);
  }
  try {
    return { success: true, ...(await found.action(contentOf(request), session)), ...head };
  } catch (error) {
    const { message, code } = fieldsOf(error);
    const text = typeof message === 'string' ? message : String(error);
    return refuse(text.slice(0, MAX_MESSAGE_CHARACTERS), typeof code === 'string' ? code : undefined);
  }
}

interface Found {
  readonly of: ApiModule;
  readonly action: ApiAction;
  readonly answer: string;
}

function find({ type, action }: Fields): Found | null {
  for (const of of MODULES) {
    // A bare action is how the state of executions is asked for.
    const isMeant = typeof type === 'string' ? of.types.includes(type) : type === undefined && of === CAPABILITY_API;
    const asked = isMeant ? action : type;
    const name = typeof asked === 'string' ? (own(of.aliases, asked) ?? asked) : '';
    const run = own(of.actions, name);
    if (run) return { of, action: run, answer: own(of.answers, name) ?? `${name}Response` };
  }
  return null;
}

/** Never a member that every object has. */
function own<T>(table: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return table && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** What the request itself is called is none of its members. */
function contentOf({ type: _, action: __, ...fields }: Fields): ApiRequest {
  const { message } = fields;
  if (typeof message === 'string') return { fields, text: message };
  return { fields: message === undefined || message === null ? fields : fieldsOf(message), text: null };
}

function requestIdOf(id: unknown): Json {
  const isPlain = (typeof id === 'string' && id.length <= 200) || typeof id === 'number';
  return isPlain ? id : null;
}

function nameOf({ type, action }: Fields): string {
  const parts = [type, action].filter((part) => typeof part === 'string').map((part) => part.slice(0, 100));
  return parts.length === 0 ? 'a request without type' : parts.join('.');
}

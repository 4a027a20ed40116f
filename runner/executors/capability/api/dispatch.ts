import { basename } from 'node:path';
import { type Fields, fieldsOf, type Json, type JsonObject } from '../../../../src/domain/json.js';
import {
  type ApiAction,
  type ApiModule,
  type ApiRequest,
  type ApiSession,
  badRequest,
  nestedOrder,
  optionalText,
  requiredText,
} from './api.js';
import { FS_API } from './files.js';
import { searchWorkspace } from './search.js';
import { TERMINAL_API } from './terminal.js';

const MAX_TEXT_CHARACTERS = 8_000;

const sendMessage: ApiAction = async ({ fields, text }, { context, executionId }) => {
  const said = text ?? fields.text ?? fields.message;
  if (typeof said !== 'string') throw badRequest('message must be text');
  context.audit('capability_message', { execution_id: executionId, text: said.slice(0, MAX_TEXT_CHARACTERS) });
  return {};
};

/** People talk to agents; an executor gets its invocation and nothing else. */
const refuse: ApiAction = async () => {
  throw badRequest('an executor cannot receive messages of users; it has its invocation only');
};

const CHAT_API: ApiModule = {
  module: 'chat',
  types: ['chatEvent'],
  actions: { sendMessage, waitForReply: refuse, getMessage: refuse, onMessage: refuse, askQuestion: refuse },
  aliases: { waitforReply: 'waitForReply', confirmationRequest: 'askQuestion' },
};

const PROJECT_API: ApiModule = {
  module: 'project',
  types: ['projectEvent', 'settingEvent'],
  actions: {
    getProjectPath: async (_, { context }) => ({
      projectPath: context.workspace,
      projectName: basename(context.workspace),
    }),
    getProjectFiles: async (_, session) => {
      const { results, truncated } = await searchWorkspace({ mode: 'list', pattern: '', path: '.' }, session);
      return { files: results.map(({ path }) => path), truncated };
    },
  },
};

const start =
  (fixedType: string | null): ApiAction =>
  (request, { nested }) => {
    const name = requiredText(request, 'capabilityName', 'name');
    const type = fixedType ?? requiredText(request, 'capabilityType', 'type');
    return nested.startCapability({ ...nestedOrder(request), type, name });
  };

const list =
  (fixedType: string | null): ApiAction =>
  async ({ fields }, { nested }) => ({
    capabilities: await nested.list(fixedType ?? typeOf(fields)),
  });

function typeOf(fields: Fields): string | null {
  return optionalText(fields, 'capabilityType', 'type') ?? optionalText(fieldsOf(fields.filter), 'type');
}

/** Only an agent of the workflow has agents, and it is the step loop that starts them. */
const refuseAgents: ApiAction = async () => {
  throw badRequest('an executor cannot start agents; let a step of the workflow do that');
};

const CAPABILITY_API: ApiModule = {
  module: 'capability',
  types: ['capabilityEvent', 'capability'],
  actions: {
    startCapability: start(null),
    startSkill: start('skill'),
    startPower: start('power'),
    startTalent: start('talent'),
    listCapabilities: list(null),
    listSkills: list('skill'),
    stopCapability: (request, { nested }) => nested.stop(requiredText(request, 'executionId')),
    getExecutionStatus: async (request, { nested }) => nested.status(requiredText(request, 'executionId')),
    getActiveExecutions: async (_, { nested }) => ({ executions: nested.active() }),
    startAgent: refuseAgents,
    agentEvent: refuseAgents,
  },
};

const MAX_CODE_CHARACTERS = 1_000_000;

const startExecutor: ApiAction = (request, { nested }) => {
  const name = requiredText(request, 'actionBlockName', 'actionBlockPath', 'name');
  return nested.startExecutor({ ...nestedOrder(request), name });
};

const startCode: ApiAction = (request, { nested }) => {
  const code = requiredText(request, 'code', 'inlineCode');
  if (code.length > MAX_CODE_CHARACTERS) throw badRequest(`code is longer than ${MAX_CODE_CHARACTERS} characters`);
  return nested.startCode({ ...nestedOrder(request), code });
};

const SIDE_EXECUTION_API: ApiModule = {
  module: 'sideExecution',
  types: ['sideExecutionEvent', 'sideExecution'],
  actions: {
    startWithActionBlock: startExecutor,
    startWithCode: startCode,
    // The client of existing packages has one name for both.
    startSideExecution: (request, session) =>
      (optionalText(request.fields, 'inlineCode') === null ? startExecutor : startCode)(request, session),
    stopSideExecution: (request, { nested }) => nested.stop(requiredText(request, 'sideExecutionId', 'executionId')),
    getSideExecutionStatus: async (request, { nested }) =>
      nested.status(requiredText(request, 'sideExecutionId', 'executionId')),
  },
  aliases: { stop: 'stopSideExecution', getStatus: 'getSideExecutionStatus' },
};

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

import { basename } from 'node:path';
import { type Fields, fieldsOf, type Json, type JsonObject } from '../../../../src/domain/json.js';
import {
  type ApiAction,
  type ApiModule,
  type ApiRequest,
  type ApiSession,
  badRequest,
  childOrder,
  optionalText,
  requiredText,
} from './api.js';
import { FS_API } from './files.js';
import { searchWorkspace } from './search.js';
import { TERMINAL_API } from './terminal.js';

const MAX_MESSAGE_CHARACTERS = 2_000;

/** Answers any request of an executor; an unknown one gets an error. Never rejects. */
export async function answerRequest(request: Fields, session: ApiSession): Promise<JsonObject> {
  const action = findAction(request);
  const head = { type: action?.answerType ?? 'errorResponse', requestId: requestIdOf(request.requestId) };
  const refuse = (error: string, code?: string) => ({ ...head, success: false, error, ...(code ? { code } : {}) });
  if (action === null) return refuse(`unsupported: ${nameOf(request)} is not offered here`);
  const { module } = action.module;
  if (!session.context.config.capabilities.modules.includes(module)) {
    return refuse(`unsupported: ${module} is not in capabilities.modules`);
  }
  try {
    return { success: true, ...(await action.run(contentOf(request), session)), ...head };
  } catch (error) {
    const { message, code } = fieldsOf(error);
    const text = typeof message === 'string' ? message : String(error);
    return refuse(text.slice(0, MAX_MESSAGE_CHARACTERS), typeof code === 'string' ? code : undefined);
  }
}

interface RequestedAction {
  readonly module: ApiModule;
  readonly run: ApiAction;
  readonly answerType: string;
}

function findAction({ type, action }: Fields): RequestedAction | null {
  for (const module of MODULES) {
    // Requests for the state of executions have an action but no type.
    const isOfModule =
      typeof type === 'string' ? module.types.includes(type) : type === undefined && module === CAPABILITY_API;
    const written = isOfModule ? action : type;
    const name = typeof written === 'string' ? (own(module.aliases, written) ?? written) : '';
    const run = own(module.actions, name);
    if (run) return { module, run, answerType: own(module.answers, name) ?? `${name}Response` };
  }
  return null;
}

/** Reads own properties only, no inherited ones. */
function own<T>(table: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return table && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** `type` and `action` name the request and are not part of its content. */
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

const MAX_TEXT_CHARACTERS = 8_000;

const sendMessage: ApiAction = async ({ fields, text }, { context, executionId }) => {
  const message = text ?? fields.text ?? fields.message;
  if (typeof message !== 'string') throw badRequest('message must be text');
  context.audit('capability_message', { execution_id: executionId, text: message.slice(0, MAX_TEXT_CHARACTERS) });
  return {};
};

/** People send messages to agents only. */
const refuseMessages: ApiAction = async () => {
  throw badRequest('an executor cannot receive messages of users; it has its invocation only');
};

const CHAT_API: ApiModule = {
  module: 'chat',
  types: ['chatEvent'],
  actions: {
    sendMessage,
    waitForReply: refuseMessages,
    getMessage: refuseMessages,
    onMessage: refuseMessages,
    askQuestion: refuseMessages,
  },
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
  (request, { executions }) => {
    const name = requiredText(request, 'capabilityName', 'name');
    const type = fixedType ?? requiredText(request, 'capabilityType', 'type');
    return executions.startCapability({ ...childOrder(request), type, name });
  };

const list =
  (fixedType: string | null): ApiAction =>
  async ({ fields }, { executions }) => ({
    capabilities: await executions.list(fixedType ?? typeOf(fields)),
  });

function typeOf(fields: Fields): string | null {
  return optionalText(fields, 'capabilityType', 'type') ?? optionalText(fieldsOf(fields.filter), 'type');
}

/** Agents are started by steps of the workflow only. */
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
    stopCapability: (request, { executions }) => executions.stop(requiredText(request, 'executionId')),
    getExecutionStatus: async (request, { executions }) => executions.status(requiredText(request, 'executionId')),
    getActiveExecutions: async (_, { executions }) => ({ executions: executions.active() }),
    startAgent: refuseAgents,
    agentEvent: refuseAgents,
  },
};

const MAX_CODE_CHARACTERS = 1_000_000;

const startExecutor: ApiAction = (request, { executions }) => {
  const name = requiredText(request, 'actionBlockName', 'actionBlockPath', 'name');
  return executions.startExecutor({ ...childOrder(request), name });
};

const startCode: ApiAction = (request, { executions }) => {
  const code = requiredText(request, 'code', 'inlineCode');
  if (code.length > MAX_CODE_CHARACTERS) throw badRequest(`code is longer than ${MAX_CODE_CHARACTERS} characters`);
  return executions.startCode({ ...childOrder(request), code });
};

const SIDE_EXECUTION_API: ApiModule = {
  module: 'sideExecution',
  types: ['sideExecutionEvent', 'sideExecution'],
  actions: {
    startWithActionBlock: startExecutor,
    startWithCode: startCode,
    // The client of existing packages uses one name for both.
    startSideExecution: (request, session) =>
      (optionalText(request.fields, 'inlineCode') === null ? startExecutor : startCode)(request, session),
    stopSideExecution: (request, { executions }) =>
      executions.stop(requiredText(request, 'sideExecutionId', 'executionId')),
    getSideExecutionStatus: async (request, { executions }) =>
      executions.status(requiredText(request, 'sideExecutionId', 'executionId')),
  },
  aliases: { stop: 'stopSideExecution', getStatus: 'getSideExecutionStatus' },
};

const MODULES: readonly ApiModule[] = [FS_API, TERMINAL_API, PROJECT_API, CAPABILITY_API, SIDE_EXECUTION_API, CHAT_API];

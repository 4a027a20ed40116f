import { basename } from 'node:path';
import { type Fields, fieldsOf, type Json, type JsonObject, listOf } from '../../../../src/domain/json.js';
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
  const refuseCall = (reason: string) => {
    // The published SDK expects no answer to some of its calls, so the answer alone would reach nobody.
    session.report(reason);
    return refuse(`unsupported: ${reason}`);
  };
  if (action === null) return refuseCall(`${nameOf(request)} is not offered here`);
  const { module } = action.module;
  if (!session.context.config.capabilities.modules.includes(module)) {
    return refuseCall(`${nameOf(request)} needs ${module}, which is not in capabilities.modules`);
  }
  const ignored = ignoredArguments(request, action);
  if (ignored !== '') session.report(`${nameOf(request)}: these arguments have no effect here: ${ignored}`);
  const note = ignored === '' ? {} : { message: `these arguments have no effect here: ${ignored}` };
  try {
    return { success: true, ...note, ...(await action.run(contentOf(request), session)), ...head };
  } catch (error) {
    const { message, code } = fieldsOf(error);
    const text = typeof message === 'string' ? message : String(error);
    const shown = text.length <= MAX_MESSAGE_CHARACTERS ? text : `${text.slice(0, MAX_MESSAGE_CHARACTERS)} …`;
    return refuse(shown, typeof code === 'string' ? code : undefined);
  }
}

interface RequestedAction {
  readonly name: string;
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
    if (run) return { name, module, run, answerType: own(module.answers, name) ?? `${name}Response` };
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

const MAX_SHOWN = 10;

/** The names of arguments that the action does not know. The SDK also sends those that its caller left out, as null, false or ''. */
function ignoredArguments(request: Fields, { name, module }: RequestedAction): string {
  const { message, type: _, action: __, requestId: ___, ...others } = request;
  const given = { ...others, ...fieldsOf(message) };
  const known = own(module.takes, name) ?? [];
  const hasValue = (value: unknown) => value !== undefined && value !== null && value !== false && value !== '';
  const names = Object.keys(given).filter((key) => !known.includes(key) && hasValue(given[key]));
  return names
    .slice(0, MAX_SHOWN)
    .map((key) => key.slice(0, 100))
    .join(', ');
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
  const payload = fields.payload === undefined ? '{}' : (JSON.stringify(fields.payload) ?? '{}');
  const isCut = Math.max(message.length, payload.length) > MAX_TEXT_CHARACTERS;
  context.audit('capability_message', {
    ...{ execution_id: executionId, text: message.slice(0, MAX_TEXT_CHARACTERS) },
    ...(payload === '{}' || payload === 'null' ? {} : { payload: payload.slice(0, MAX_TEXT_CHARACTERS) }),
    ...(isCut ? { truncated: true } : {}),
  });
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
  takes: { sendMessage: ['text', 'payload'] },
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
      const { results, truncated } = await searchWorkspace({ mode: 'list', path: '.' }, session);
      return { files: results.map(({ path }) => path), truncated };
    },
  },
  takes: {},
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
  async ({ fields }, { executions }) => {
    const { type: _, tags, author, ...others } = fieldsOf(fields.filter);
    const unknown = Object.keys(others);
    if (unknown.length > 0) throw badRequest(`the filter may have type, tags and author, not ${unknown.join(', ')}`);
    const filter = {
      type: fixedType ?? typeOf(fields),
      tags: tags === undefined || tags === null ? null : listOf(tags).filter((tag) => typeof tag === 'string'),
      author: typeof author === 'string' ? author : null,
    };
    return { capabilities: await executions.list(filter) };
  };

function typeOf(fields: Fields): string | null {
  return optionalText(fields, 'capabilityType', 'type') ?? optionalText(fieldsOf(fields.filter), 'type');
}

/** Agents are started by steps of the workflow only. */
const refuseAgents: ApiAction = async () => {
  throw badRequest('an executor cannot start agents; let a step of the workflow do that');
};

const CAPABILITY = ['capabilityName', 'name', 'capabilityType', 'type'];
const START = ['params', 'timeout', 'wait'];
const SIDE_EXECUTION = ['sideExecutionId', 'executionId'];

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
    getCapabilityDetail: async (request, { executions }) =>
      executions.detail(requiredText(request, 'capabilityName', 'name'), typeOf(request.fields)),
    listExecutors: async (_, { executions }) => ({ executors: await executions.executors() }),
    stopCapability: (request, { executions }) => executions.stop(requiredText(request, 'executionId')),
    getExecutionStatus: async (request, { executions }) => executions.status(requiredText(request, 'executionId')),
    getActiveExecutions: async (_, { executions }) => ({ executions: executions.active() }),
    startAgent: refuseAgents,
    agentEvent: refuseAgents,
  },
  takes: {
    startCapability: [...CAPABILITY, ...START],
    startSkill: [...CAPABILITY, ...START],
    startPower: [...CAPABILITY, ...START],
    startTalent: [...CAPABILITY, ...START],
    listCapabilities: ['capabilityType', 'type', 'filter'],
    listSkills: ['filter'],
    getCapabilityDetail: CAPABILITY,
    stopCapability: ['executionId'],
    getExecutionStatus: ['executionId'],
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

const ACTION_BLOCK = ['actionBlockName', 'actionBlockPath', 'name'];
const CODE = ['code', 'inlineCode'];

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
  takes: {
    startWithActionBlock: [...ACTION_BLOCK, ...START],
    startWithCode: [...CODE, ...START],
    startSideExecution: [...ACTION_BLOCK, ...CODE, ...START],
    stopSideExecution: SIDE_EXECUTION,
    getSideExecutionStatus: SIDE_EXECUTION,
  },
};

const MODULES: readonly ApiModule[] = [FS_API, TERMINAL_API, PROJECT_API, CAPABILITY_API, SIDE_EXECUTION_API, CHAT_API];

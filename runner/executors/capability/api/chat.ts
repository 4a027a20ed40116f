import { type ApiAction, type ApiModule, badRequest } from './api.js';

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

export const CHAT_API: ApiModule = {
  module: 'chat',
  types: ['chatEvent'],
  actions: { sendMessage, waitForReply: refuse, getMessage: refuse, onMessage: refuse, askQuestion: refuse },
  aliases: { waitforReply: 'waitForReply', confirmationRequest: 'askQuestion' },
};

import { type ApiAction, type ApiModule, badRequest } from './api.js';
import { nestedOrder, optionalText, requiredText } from './request-fields.js';

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

export const SIDE_EXECUTION_API: ApiModule = {
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

import { type Fields, fieldsOf } from '../../../../src/domain/fields.js';
import { type ApiAction, type ApiModule, badRequest } from './api.js';
import { nestedOrder, optionalText, requiredText } from './request-fields.js';

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

export const CAPABILITY_API: ApiModule = {
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

import { z } from 'zod';
import { milliseconds, oneOf, seconds, setting, text } from '../setting-types.js';

const headerName = z
  .string({ error: 'must be the name of a header' })
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of a header');
const textOrNumber = z.union([text, z.number()], { error: 'must be text' }).transform(String);

const shared = {
  tenant: setting(textOrNumber, null, 'Tenant of every request.'),
  workspace_id: setting(textOrNumber, null, 'Workspace of every request.'),
  token: setting(text, null, 'Token of every request; $NAME stands for a variable.'),
  timeout_s: setting(seconds, null, 'Time limit of a step that has none. Default: 120.'),
  tenant_header: setting(headerName, null, 'Header of the tenant. Default: X-Koder-Tenant.'),
  workspace_header: setting(headerName, null, 'Header of the workspace. Default: X-Koder-Workspace.'),
};

const service = {
  base_url: setting(text, null, 'http or https; plain http only to this machine.'),
  insecure: setting(z.boolean({ error: 'must be true or false' }), false, 'Allow plain http to another machine.'),
  ...shared,
};

export const SERVICE_SHAPES = {
  gateway: service,
  sandbox: {
    ...service,
    session: setting(oneOf(['run', 'step']), 'run', 'How long a session of the sandbox is used.'),
  },
  tools: {
    ...service,
    validate_output: setting(z.boolean({ error: 'must be true or false' }), true, 'Hold outputs against their schema.'),
  },
  agents: { ...service, poll_interval_ms: setting(milliseconds, 2_000, 'Time between two looks at a long run.') },
};

export const DEFAULTS_SHAPE = shared;

/** As they stand under `services`. */
export const serviceShapes = {
  defaults: described(DEFAULTS_SHAPE, 'Keys that all services share.'),
  gateway: described(SERVICE_SHAPES.gateway, 'Language models, for steps of kind llm.'),
  sandbox: described(SERVICE_SHAPES.sandbox, 'For steps of kind code.'),
  tools: described(SERVICE_SHAPES.tools, 'For steps of kind tool.'),
  agents: described(SERVICE_SHAPES.agents, 'For steps of kind agent with backend http.'),
};

function described<S extends z.ZodRawShape>(shape: S, description: string) {
  return z.strictObject(shape).nullish().meta({ description });
}

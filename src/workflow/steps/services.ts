import { z } from 'zod';
import { isLoopback } from '../../domain/host.js';
import { isMap, type JsonObject } from '../../domain/json.js';
import { type Backend, SERVICE_NAMES, type Service, type ServiceName } from '../../domain/steps/plan.js';
import { formatPath } from '../positions.js';
import { formatZodProblem, knownKeysAt, suggestName, typeName, zodProblems } from '../problems.js';
import { literalSecretWarning, variableName } from '../secrets.js';
import { milliseconds, oneOf, seconds, setting, text } from '../setting.js';
import type { Executors } from './executor-definitions.js';
import {
  allNodes,
  type Faults,
  nameOf,
  type PlanSource,
  type StepNode,
  textOf,
  unfilledTokens,
  valuePosition,
} from './step-node.js';
import type { StepKind } from './step-schema.js';

const headerName = z
  .string({ error: 'must be the name of a header' })
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of a header');
const textOrNumber = z.union([text, z.number()], { error: 'must be text' }).transform(String);

const shared = {
  tenant: setting(textOrNumber, null, 'Tenant of every request.'),
  workspace_id: setting(textOrNumber, null, 'Workspace of every request.'),
  token: setting(text, null, 'Token of every request; $NAME stands for a variable.'),
  timeout_s: setting(seconds, null, 'Time limit of steps without one. Default: 120.'),
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
    session: setting(oneOf(['run', 'step']), 'run', 'Scope of a session of the sandbox.'),
  },
  tools: {
    ...service,
    validate_output: setting(
      z.boolean({ error: 'must be true or false' }),
      true,
      'Check outputs against their schema.',
    ),
  },
  agents: { ...service, poll_interval_ms: setting(milliseconds, 2_000, 'Time between polls of a long run.') },
};

const DEFAULTS_SHAPE = shared;

/** The keys of `services`. */
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

/** The default time limit of a request. */
const DEFAULT_TIMEOUT_S = 120;
const TENANT_HEADER = 'X-Koder-Tenant';
const WORKSPACE_HEADER = 'X-Koder-Workspace';

export interface Services {
  readonly usable: { readonly [name in ServiceName]: Service | null };
  /** Services that steps cannot use yet, and why. */
  readonly lacking: ReadonlyMap<ServiceName, Lack>;
  /** Variables that hold tokens. */
  readonly secretNames: readonly string[];
  readonly literalSecrets: readonly string[];
}

interface Lack {
  /** The service has no address. */
  readonly isUnwired: boolean;
  readonly text: string;
}

const schema = z.strictObject(serviceShapes, { error: 'must be a map of services' });

export function readServices(source: PlanSource, faults: Faults): Services {
  const { values, positions } = source;
  const written = values.services ?? {};
  const parsed = schema.safeParse(written);
  for (const problem of zodProblems(parsed.error)) {
    const path = ['services', ...problem.path];
    const at = problem.isOfKey ? positions.keyAt(path) : positions.valueAt(path);
    const text = formatZodProblem({ ...problem, path }, { services: written }, knownKeysAt(schema, problem.path));
    faults.add(at, problem.path.length === 0 ? `services must be a map of services, got ${typeName(written)}` : text);
  }
  for (const { path, text } of unfilledTokens(written, ['services']))
    faults.add(positions.valueAt(path), `${formatPath(path)}: ${text}`, 'step_data_error');
  const secrets = tokensOf(isMap(written) ? written : {}, source, faults);
  const lacking = new Map<ServiceName, Lack>();
  const usable: { [name in ServiceName]: Service | null } = { gateway: null, sandbox: null, tools: null, agents: null };
  // The faults are reported, so steps do not report missing services.
  if (!parsed.success) return { usable, lacking, ...secrets };
  const defaults = parsed.data.defaults ?? z.object(DEFAULTS_SHAPE).parse({});
  for (const name of SERVICE_NAMES) {
    const own = parsed.data[name];
    if (own === undefined || own === null) {
      lacking.set(name, { isUnwired: true, text: `services.${name} is missing; add it with its base_url` });
      continue;
    }
    const result = serviceOfServices(name, { ...SPECIFIC, ...own }, defaults, source, faults);
    if (result === null) continue;
    if ('isUnwired' in result) lacking.set(name, result);
    else usable[name] = result;
  }
  return { usable, lacking, ...secrets };
}

/** Defaults of keys that only some services have. */
const SPECIFIC = { session: 'run', validate_output: true, poll_interval_ms: 2_000 } as const;
type Defaults = z.output<z.ZodObject<typeof DEFAULTS_SHAPE>>;
type Own = z.output<z.ZodObject<typeof SERVICE_SHAPES.gateway>> & {
  readonly session: 'run' | 'step';
  readonly validate_output: boolean;
  readonly poll_interval_ms: number;
};

/** The service, or what it lacks. Null: it has a fault, which is reported here and not again by the steps that use it. */
function serviceOfServices(
  name: ServiceName,
  own: Own,
  defaults: Defaults,
  source: PlanSource,
  faults: Faults,
): Service | Lack | null {
  const { positions, env } = source;
  const missing: string[] = [];
  const settingOf = (key: 'base_url' | 'tenant' | 'workspace_id'): string | null => {
    const value = own[key] ?? (key === 'base_url' ? null : defaults[key]);
    const variable = variableName(value);
    if (value === null || variable === null) return value;
    const set = env[variable]?.trim() ?? '';
    if (set === '') missing.push(`services.${name}.${key} is $${variable}, and the variable ${variable} is not set`);
    return set === '' ? null : set;
  };
  const url = settingOf('base_url');
  const tenant = settingOf('tenant');
  const workspaceId = settingOf('workspace_id');
  const token = own.token ?? defaults.token;
  const baseUrl = url === null ? null : serviceUrl(url, own.insecure);
  const before = faults.problems.length;
  if (baseUrl !== null && 'problem' in baseUrl)
    faults.add(positions.valueAt(['services', name, 'base_url']), `services.${name}.base_url ${baseUrl.problem}`);
  for (const [key, value] of [
    ['tenant', tenant],
    ['workspace_id', workspaceId],
  ] as const) {
    if (value === null || /^[\x21-\x7e](?:[\x20-\x7e]{0,200}[\x21-\x7e])?$/.test(value)) continue;
    const at = positions.valueAt(['services', own[key] === null ? 'defaults' : name, key]);
    faults.add(at, `services.${name}: ${key} must be one line of plain text, because it is sent in a header`);
  }
  if (faults.problems.length > before) return null;
  const lack = (text: string) => ({ isUnwired: url === null, text });
  if (missing.length > 0) return lack(`${missing.join('; ')}; set it`);
  if (baseUrl === null || 'problem' in baseUrl) return lack(`services.${name} has no base_url; set it`);
  if (tenant === null)
    return lack(`services.${name} has no tenant; set services.${name}.tenant or services.defaults.tenant`);
  if (token === null)
    return lack(`services.${name} has no token; set services.${name}.token or services.defaults.token`);
  const variable = variableName(token);
  if (variable !== null && (env[variable]?.trim() ?? '') === '')
    return lack(`the token of services.${name} is $${variable}, and the variable ${variable} is not set; set it`);
  return {
    name,
    baseUrl: baseUrl.url,
    tenant,
    workspaceId,
    token,
    timeoutMs: Math.ceil((own.timeout_s || defaults.timeout_s || DEFAULT_TIMEOUT_S) * 1000),
    tenantHeader: own.tenant_header ?? defaults.tenant_header ?? TENANT_HEADER,
    workspaceHeader: own.workspace_header ?? defaults.workspace_header ?? WORKSPACE_HEADER,
    session: own.session,
    validateOutput: own.validate_output,
    pollIntervalMs: own.poll_interval_ms,
  };
}

function tokensOf(
  written: JsonObject,
  source: PlanSource,
  faults: Faults,
): Pick<Services, 'secretNames' | 'literalSecrets'> {
  const secretNames = new Set<string>();
  const literalSecrets: string[] = [];
  for (const [section, value] of Object.entries(written)) {
    const token = isMap(value) ? value.token : null;
    if (typeof token !== 'string' || token.trim() === '') continue;
    const name = variableName(token);
    const path = ['services', section, 'token'];
    if (name !== null) secretNames.add(name);
    else {
      literalSecrets.push(token);
      faults.warn(source.positions.valueAt(path), literalSecretWarning(path, token), 'literal_secret');
    }
  }
  return { secretNames: [...secretNames], literalSecrets };
}

/** The address without a trailing slash, or why it must not receive a token. Never shows the address, which may contain a password. */
function serviceUrl(text: string, isInsecureAllowed: boolean): { url: string } | { problem: string } {
  if (!URL.canParse(text)) return { problem: 'must be an address such as https://gateway.example.org' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { problem: 'must begin with https:// or http://' };
  if (url.username !== '' || url.password !== '')
    return { problem: 'must not hold a name or password; use token for that' };
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text))
    return { problem: 'must not have a query (?) or fragment (#)' };
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !isInsecureAllowed)
    return {
      problem: 'is plain http to another machine, which shows the token to the network; use https, or `insecure: true`',
    };
  return { url: url.href.replace(/\/+$/, '') };
}

const SERVICES: { readonly [kind in Exclude<StepKind, 'agent'>]: ServiceName | null } = {
  llm: 'gateway',
  tool: 'tools',
  code: 'sandbox',
  external: null,
  capability: null,
};

/** The service that runs a kind of step, or null. */
export function serviceOf(kind: StepKind, backend: Backend | null): ServiceName | null {
  if (kind === 'agent') return backend === 'http' ? 'agents' : null;
  return SERVICES[kind];
}

/** Checks that every step has an executor or a service that can run it. There are no fallbacks. */
export function checkWiring(
  nodes: readonly StepNode[],
  executors: Executors,
  services: Services,
  why: string,
  faults: Faults,
): void {
  const reported = new Set<ServiceName>();
  for (const node of allNodes(nodes)) {
    if (node.body === null || !('kind' in node.body)) continue;
    const { kind } = node.body;
    if (kind === 'external') checkExecutor(node, executors, faults);
    const service = serviceOf(kind, node.backend);
    if (service === null) continue;
    if (service === 'agents') checkAgentService(node, services, why, faults);
    // Only the first step that lacks a service reports it.
    else if (!reported.has(service)) checkService(node, kind, service, services, faults);
    reported.add(service);
  }
}

function checkExecutor(node: StepNode, { usable, unusable }: Executors, faults: Faults): void {
  const name = textOf(node.keys, 'executor');
  if (name === null || usable.has(name)) return;
  const reason = unusable.get(name);
  if (reason === null) return;
  const hint = suggestName(name, [...usable.keys(), ...unusable.keys()]);
  const text =
    reason === undefined
      ? `no executor ${JSON.stringify(name.slice(0, 80))} exists under executors or in .baton/executors; ${hint}; \`baton executor list\` shows what there is`
      : `the executor ${JSON.stringify(name)} cannot be used: ${reason}`;
  faults.add(valuePosition(node.keys, ['executor']), `${nameOf(node)}: ${text}`, 'EXECUTOR_NOT_FOUND');
}

/** `why`: how `auto` became http. */
function checkAgentService(node: StepNode, { lacking }: Services, why: string, faults: Faults): void {
  const lack = lacking.get('agents');
  const isNameless = textOf(node.keys, 'agent') === null;
  const missing = [...(lack ? [lack.text] : []), ...(isNameless ? ['it has no agent; set agent'] : [])];
  if (missing.length === 0) return;
  const isUnwired = isNameless || lack?.isUnwired === true;
  const over = node.keys.values.backend === 'auto' ? `this step runs over http (${why})` : 'this step runs over http';
  const text = `${nameOf(node)}: ${over}, and ${missing.join('; and ')}${isUnwired ? ', or set backend: cli' : ''}`;
  faults.add(valuePosition(node.keys, ['backend']), text, isUnwired ? 'UnwiredHttpTransport' : 'JobValidation');
}

function checkService(
  node: StepNode,
  kind: StepKind,
  service: ServiceName,
  { lacking }: Services,
  faults: Faults,
): void {
  const lack = lacking.get(service);
  if (lack === undefined) return;
  const text = `${nameOf(node)}: kind ${kind} needs a service, and ${lack.text}`;
  faults.add(valuePosition(node.keys, ['kind']), text, 'JobValidation');
}

import { z } from 'zod';
import type { JsonObject } from '../../domain/json.js';
import { SERVICE_NAMES, type Service, type ServiceName } from '../../domain/steps/plan.js';
import { formatPath } from '../positions.js';
import { literalSecretWarning, variableName } from '../provider-secrets.js';
import { isMap, kindOf, knownKeysAt, sayProblem, zodProblems } from '../problems.js';
import type { Faults, PlanSource } from './faults.js';
import { neverFilled } from './never-filled.js';
import { DEFAULTS_SHAPE, type SERVICE_SHAPES, serviceShapes } from './service-schema.js';
import { serviceUrl } from './service-url.js';

/** How long a request may take when nobody says. */
const DEFAULT_TIMEOUT_S = 120;
const TENANT_HEADER = 'X-Koder-Tenant';
const WORKSPACE_HEADER = 'X-Koder-Workspace';

export interface Services {
  readonly usable: { readonly [name in ServiceName]: Service | null };
  /** What a service lacks before a step can use it. */
  readonly lacking: ReadonlyMap<ServiceName, Lack>;
  /** Variables that hold tokens. */
  readonly secretNames: readonly string[];
  readonly literalSecrets: readonly string[];
}

export interface Lack {
  /** There is not even an address. */
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
    const text = sayProblem({ ...problem, path }, { services: written }, knownKeysAt(schema, problem.path));
    faults.add(at, problem.path.length === 0 ? `services must be a map of services, got ${kindOf(written)}` : text);
  }
  for (const { path, text } of neverFilled(written, ['services']))
    faults.add(positions.valueAt(path), `${formatPath(path)}: ${text}`, 'step_data_error');
  const secrets = tokensOf(isMap(written) ? written : {}, source, faults);
  const lacking = new Map<ServiceName, Lack>();
  const usable: { [name in ServiceName]: Service | null } = { gateway: null, sandbox: null, tools: null, agents: null };
  // What cannot be read as a whole is told; what steps lack because of it is not told again.
  if (!parsed.success) return { usable, lacking, ...secrets };
  const defaults = parsed.data.defaults ?? z.object(DEFAULTS_SHAPE).parse({});
  for (const name of SERVICE_NAMES) {
    const own = parsed.data[name];
    if (own === undefined || own === null) {
      lacking.set(name, { isUnwired: true, text: `services.${name} is not there; add it with its base_url` });
      continue;
    }
    const result = serviceOf(name, { ...SPECIFIC, ...own }, defaults, source, faults);
    if (result === null) continue;
    if ('isUnwired' in result) lacking.set(name, result);
    else usable[name] = result;
  }
  return { usable, lacking, ...secrets };
}

/** Keys that only some services have. */
const SPECIFIC = { session: 'run', validate_output: true, poll_interval_ms: 2_000 } as const;
type Defaults = z.output<z.ZodObject<typeof DEFAULTS_SHAPE>>;
type Own = z.output<z.ZodObject<typeof SERVICE_SHAPES.gateway>> & {
  readonly session: 'run' | 'step';
  readonly validate_output: boolean;
  readonly poll_interval_ms: number;
};

/** The service, or what it lacks. A fault of the service itself is told here; `null`: it has one, and steps that use it have none. */
function serviceOf(
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
    faults.add(at, `services.${name}: ${key} must be one line of plain text: it is sent in a header`);
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
      faults.warn(source.positions.valueAt(path), literalSecretWarning(path, token));
    }
  }
  return { secretNames: [...secretNames], literalSecrets };
}

import { validateHeaderName, validateHeaderValue } from 'node:http';
import { BatonError } from '../../../src/domain/errors.js';
import type { Service, ServiceName } from '../../../src/domain/steps/plan.js';
import type { StepContext } from '../executor.js';

/** Where a service is and as whom it is spoken to; found whole before the first byte is sent. */
export interface ServiceAccess {
  readonly service: Service;
  /** Without credentials, query and fragment. Its path has no slash at the end. */
  readonly base: URL;
  readonly token: string;
  readonly headers: { readonly [name: string]: string };
}

/** Throws `BatonError`: everything that is missing here is a fault of the settings. */
export function accessTo(name: ServiceName, context: StepContext): ServiceAccess {
  const service = context.workflow.plan.services[name];
  if (service === null) throw unwired(name, context);
  const base = baseOf(service);
  const token = tokenOf(service, context);
  if (service.tenant.trim() === '') throw misconfigured(name, 'tenant', 'is empty: no call is made without one');
  if (service.workspaceHeader.toLowerCase() === service.tenantHeader.toLowerCase()) {
    throw misconfigured(name, 'workspace_header', 'is the header of the tenant');
  }
  const headers = {
    ...header(service, 'tenant_header', service.tenantHeader, 'tenant', service.tenant),
    ...(service.workspaceId === null
      ? {}
      : header(service, 'workspace_header', service.workspaceHeader, 'workspace_id', service.workspaceId)),
    Authorization: `Bearer ${token}`,
  };
  return { service, base, token, headers };
}

function unwired(name: ServiceName, { step }: StepContext): BatonError {
  const code = name === 'agents' ? 'UnwiredHttpTransport' : 'JobValidation';
  return new BatonError(code, `Step ${step.id} needs services.${name}, which is not set: give it a base_url`);
}

function baseOf({ name, baseUrl }: Service): URL {
  if (!URL.canParse(baseUrl)) throw misconfigured(name, 'base_url', 'is not a URL');
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw misconfigured(name, 'base_url', 'is neither http nor https');
  const base = new URL(url.origin);
  base.pathname = url.pathname.replace(/\/+$/, '');
  return base;
}

function tokenOf({ name, token: written }: Service, context: StepContext): string {
  const variable = /^\$([A-Za-z_]\w*)$/.exec(written)?.[1];
  const said = variable === undefined ? '' : `, which is $${variable},`;
  const token = context.secret(written)?.trim() ?? '';
  if (token === '') throw misconfigured(name, `token${said}`, 'is missing or empty: no call is made without one');
  if (!/^[\x21-\x7e]+$/.test(token)) throw misconfigured(name, `token${said}`, 'has characters that no token can have');
  return token;
}

/** Those that the client sets itself, and those that say where a message ends. */
const OURS =
  /^(?:authorization|accept|accept-encoding|content-type|content-length|connection|expect|host|idempotency-key|transfer-encoding|upgrade)$/i;

function header({ name }: Service, nameKey: string, headerName: string, valueKey: string, value: string) {
  if (OURS.test(headerName)) throw misconfigured(name, nameKey, 'names a header that has another use');
  try {
    validateHeaderName(headerName);
  } catch {
    throw misconfigured(name, nameKey, 'is not the name of a header');
  }
  try {
    validateHeaderValue(headerName, value);
  } catch {
    throw misconfigured(name, valueKey, 'has characters that cannot be sent');
  }
  return { [headerName]: value };
}

function misconfigured(name: ServiceName, key: string, problem: string): BatonError {
  return new BatonError('JobValidation', `services.${name}.${key} ${problem}`);
}

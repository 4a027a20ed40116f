import { join, relative } from 'node:path';
import { scaffoldExecutor } from '../../runner/executors/capability/scaffold-executor.js';
import { listCapabilities } from '../api/capability-listing.js';
import type { CapabilitySource } from '../api/routes.js';
import type { CapabilityIndex } from '../domain/capabilities.js';
import { BatonError } from '../domain/errors.js';
import { type Fields, fieldsOf, type JsonObject } from '../domain/json.js';

interface CapabilityRegistry {
  stats(): JsonObject;
  refresh(projectDir: string): Promise<CapabilityIndex>;
}

/** The actions behind `/api/capability/…`. `projectDir` returns the folder of WORKFLOW.md. */
export function capabilityApi(capabilities: CapabilityRegistry, projectDir: () => string): CapabilitySource {
  return {
    stats: () => capabilities.stats(),
    refresh: async () => listCapabilities(await capabilities.refresh(projectDir())),
    async create(request) {
      const wanted = parseRequest(request);
      const project = projectDir();
      const { dir } = await scaffoldExecutor({ ...wanted, dir: join(project, '.baton', 'capabilities') });
      return { name: wanted.name, path: relative(project, dir) };
    },
  };
}

type NewExecutor = Omit<Parameters<typeof scaffoldExecutor>[0], 'dir'>;

/** Checks types only. `scaffoldExecutor` checks names. */
function parseRequest(request: unknown): NewExecutor {
  const fields = fieldsOf(request);
  if (fields !== request) throw invalid('the body must be an object with name and supportedTypes');
  const { name, supportedTypes } = fields;
  if (typeof name !== 'string') throw invalid('name must be a text');
  if (!isTexts(supportedTypes)) throw invalid('supportedTypes must be a list of texts');
  return {
    ...{ name, supportedTypes },
    ...optional(fields, 'version'),
    ...optional(fields, 'description'),
    ...optional(fields, 'entryPoint'),
  };
}

function optional<K extends 'version' | 'description' | 'entryPoint'>(fields: Fields, key: K): { [key in K]?: string } {
  const value = fields[key];
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') throw invalid(`${key} must be a text`);
  return { [key]: value } as { [key in K]?: string };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function invalid(message: string): BatonError {
  return new BatonError('INVALID_REQUEST', message);
}

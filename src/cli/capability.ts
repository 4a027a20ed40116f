import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { scaffoldExecutor } from '../../runner/executors/capability/scaffold-executor.js';
import {
  type CapabilityListing,
  type ListedCapability,
  type ListedExecutor,
  listCapabilities,
} from '../api/capability-listing.js';
import { BatonError } from '../domain/errors.js';
import { neutralise, neutraliseJson } from '../text/neutralise.js';
import { connectDaemon, type DaemonClient } from './client.js';
import { type Io, printError, shorter } from './io.js';

export interface ListOptions {
  readonly workflow?: string | undefined;
  readonly json: boolean;
}

/** Prints the capabilities that a daemon of this project would find. */
export async function listCapability({ workflow, json }: ListOptions, io: Io): Promise<number> {
  try {
    const listing = await readListing(await projectFolder(workflow, io), io);
    io.stdout.write(json ? `${neutraliseJson(JSON.stringify(listing))}\n` : formatListing(listing, io));
    return 0;
  } catch (error) {
    return printError(error, 2, io);
  }
}

export async function readListing(projectDir: string, { homeDir }: Io): Promise<CapabilityListing> {
  return listCapabilities(await discoverCapabilities({ projectDir, homeDir }));
}

/** Executors, capabilities and problems, a line each. */
export function formatListing({ executors, capabilities, problems }: CapabilityListing, io: Pick<Io, 'cwd'>): string {
  const parts = [
    part('Executors', executors.map(executorCells(io)), 'none: `baton capability create` creates one'),
    part(
      'Capabilities',
      capabilities.map(capabilityCells),
      'none: their folders are .baton/capabilities/<type>/<name>/',
    ),
    ...(problems.length === 0
      ? []
      : [
          part(
            'Problems',
            problems.map(({ level, text }) => [level, text]),
            '',
          ),
        ]),
  ];
  return parts.join('\n');
}

const executorCells =
  ({ cwd }: Pick<Io, 'cwd'>) =>
  ({ name, version, types, source, dir, entry, entry_missing }: ListedExecutor): string[] => [
    `${name} ${version}`,
    types.join(', '),
    source,
    `${shorter(join(dir, entry), cwd)}${entry_missing ? '  (entry missing: build it)' : ''}`,
  ];

function capabilityCells({ type, name, source, executor, inputs }: ListedCapability): string[] {
  const wanted = inputs.map((input) => `${input.name}: ${input.type}${input.required ? '' : '?'}`);
  return [
    `${type}/${name}`,
    executor === null ? 'no executor' : `by ${executor}`,
    source,
    wanted.length === 0 ? 'no inputs' : wanted.join(', '),
  ];
}

function part(title: string, rows: readonly (readonly string[])[], none: string): string {
  const clean = rows.map((row) => row.map(neutralise));
  const widths = (clean[0] ?? []).map((_, column) => Math.max(...clean.map((row) => row[column]?.length ?? 0)));
  const lines = clean.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${title}\n${(lines.length === 0 ? [none] : lines).map((line) => `  ${line.trimEnd()}\n`).join('')}`;
}

export interface RefreshOptions {
  readonly workflow?: string | undefined;
  readonly stateDir?: string | undefined;
}

/** Asks the daemon of a workflow to look again. Where there is none to ask, looks itself. */
export async function refreshCapabilities({ workflow, stateDir }: RefreshOptions, io: Io): Promise<number> {
  let project: string;
  try {
    project = await projectFolder(workflow, io);
  } catch (error) {
    return printError(error, 2, io);
  }
  let client: DaemonClient | null = null;
  try {
    client = await connectDaemon({ workflow, stateDir }, io);
    const listing = await askRefresh(client);
    io.stdout.write(`The daemon has searched again.\n\n${formatListing(listing, io)}`);
    return 0;
  } catch (error) {
    if (error instanceof BatonError && error.code === 'daemon_not_running') {
      io.stdout.write(`${NO_DAEMON}\n\n${formatListing(await readListing(project, io), io)}`);
      return 0;
    }
    io.stderr.write(`baton: ${neutralise(`the daemon did not refresh: ${(error as Error).message}`)}\n`);
    return 1;
  } finally {
    client?.close();
  }
}

const NO_DAEMON =
  'No daemon of this workflow is running. That is no problem, since every run searches before it starts. It would find:';

/** Generous, for many folders on a slow disk. */
const LIMIT_MS = 30_000;

const common = { name: z.string(), version: z.string(), description: z.string(), source: z.string(), dir: z.string() };
const listing = z.object({
  executors: z.array(
    z.object({ ...common, types: z.array(z.string()), entry: z.string(), entry_missing: z.boolean() }),
  ),
  capabilities: z.array(
    z.object({
      ...common,
      type: z.string(),
      executor: z.string().nullable(),
      inputs: z.array(z.object({ name: z.string(), type: z.string(), required: z.boolean() })),
    }),
  ),
  problems: z.array(z.object({ level: z.enum(['error', 'warning']), text: z.string() })),
});

/** `POST /api/capability/refresh`. Throws as the client does. */
export function askRefresh(client: DaemonClient): Promise<CapabilityListing> {
  return client.post('/api/capability/refresh', {}, listing, LIMIT_MS);
}

export interface CreateOptions {
  readonly name: string;
  readonly types: readonly string[];
  readonly description?: string;
  /** In the home folder instead of the project. */
  readonly isGlobal: boolean;
  readonly workflow?: string;
}

/** Creates the folder of an executor and prints the next steps. */
export async function createExecutor(options: CreateOptions, io: Io): Promise<number> {
  const { name, types, description, isGlobal, workflow } = options;
  try {
    const base = isGlobal ? io.homeDir : await projectFolder(workflow, io);
    const { dir } = await scaffoldExecutor({
      dir: join(base, '.baton', 'capabilities'),
      name,
      supportedTypes: types,
      ...(description === undefined ? {} : { description }),
    });
    const example = `.baton/capabilities/${types[0]}/<name>/capability.yaml`;
    io.stdout.write(
      `${neutralise(`Created ${shorter(dir, io.cwd)}, which runs capabilities of type ${types.join(', ')}.`)}\n` +
        `Put your code into its dist/index.js, and describe a capability for it in ${neutralise(example)}.\n`,
    );
    return 0;
  } catch (error) {
    return printError(error, 2, io);
  }
}

/** The folder of the named workflow, else the current one, which needs no WORKFLOW.md. */
export async function projectFolder(workflow: string | undefined, io: Io): Promise<string> {
  if (workflow === undefined) return io.cwd;
  const path = resolve(io.cwd, workflow);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (isThere) return dirname(path);
  throw new BatonError('missing_workflow_file', `there is no ${path}; leave it out to search this folder`);
}

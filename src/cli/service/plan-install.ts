import { readFile, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { LogLevel } from '../../logging/logger.js';
import type { Io } from '../io.js';
import { openWorkflow } from '../open-workflow.js';
import { type OurUnit, readUnit } from './our-units.js';
import { refuseClash } from './refuse-clash.js';
import { chooseRunAs } from './run-as.js';
import { placesOf, type ServicePlaces, unitPath, variablesPath } from './service-places.js';
import { firstVariables, unitVariables, type WantedVariables, wantedVariables } from './service-variables.js';
import { systemctlArgs } from './systemd.js';
import { nameOfFolder, type Scope, unitNameOf } from './unit-name.js';
import { unitText } from './unit-text.js';

export interface InstallOptions {
  readonly workflowPath: string;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly runAs?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly port?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly dryRun: boolean;
  /** How Baton is started: Node and the script of the command. */
  readonly program: { readonly node: string; readonly script: string };
  /** How the person calls us (`invocation`). */
  readonly command: string;
  /** `/etc`; tests have another. */
  readonly etcDir?: string | undefined;
}

/** Everything that is to be done, before anything is. */
export interface InstallPlan {
  readonly name: string;
  readonly unit: string;
  readonly scope: Scope;
  readonly runAs: string | null;
  readonly workflow: string;
  readonly unitFile: { readonly path: string; readonly text: string };
  /** What is there now. */
  readonly before: OurUnit | null;
  readonly variablesFile: VariablesFile;
  readonly wanted: WantedVariables;
}

export interface VariablesFile {
  readonly path: string;
  /** What it says at first. */
  readonly text: string;
  readonly isThere: boolean;
  /** Others can read it. */
  readonly isOpen: boolean;
}

/** Looks at everything and changes nothing. Throws `BatonError`: `service_failed` for what is in the way. */
export async function planInstall(options: InstallOptions, io: Io): Promise<InstallPlan> {
  const { scope, etcDir } = options;
  const runAs = await chooseRunAs(scope, options.runAs, io);
  const env = scope === 'user' ? io.env : withoutUser(io.env);
  const world = { ...io, env, homeDir: runAs.homeDir };
  const { loaded, stateDir } = await openWorkflow(options.workflowPath, options.stateDir, world);
  const { path, dir, config, secretNames } = loaded.workflow;
  const name = options.name ?? nameOfFolder(dir);
  const unit = unitNameOf(name);
  const places = placesOf(scope, { env: io.env, homeDir: io.homeDir, etcDir });
  const mark = { workflow: await realpath(path), stateDir, environmentFile: variablesPath(places, name) };
  const before = await readUnit(places, name);
  await refuseClash({ name, mark, before, path: unitPath(places, name) }, placesOfAll(io, etcDir));

  const environment = unitVariables(io.env, scope);
  const script = await realpath(options.program.script);
  const shutdownTimeoutMs = config.runtime.shutdownTimeoutMs;
  const common = { scope, name, runAs: runAs.user, mark, environment, shutdownTimeoutMs, workingDirectory: dir };
  const text = unitText({
    ...common,
    program: options.program.node,
    args: [script, ...runArguments(options, path, io)],
  });
  const file = await readVariables(mark.environmentFile);
  const allowed = [...config.runtime.envAllow, ...config.hooks.envAllow];
  const wanted = wantedVariables({ secretNames, allowed, env: io.env, unit: environment, file: file.text });
  const restart = ['systemctl', ...systemctlArgs(scope, ['restart', unit])].join(' ');
  return {
    ...{ name, unit, scope, runAs: runAs.user, workflow: path, wanted },
    unitFile: { path: unitPath(places, name), text },
    before: before === 'foreign' ? null : before,
    variablesFile: { path: mark.environmentFile, ...file, text: firstVariables(unit, restart, secretNames) },
  };
}

/** `text: null`: it is there and cannot be read, as by whoever tries out what root would do. */
async function readVariables(path: string) {
  try {
    const { mode } = await stat(path);
    return { isThere: true, isOpen: (mode & 0o077) !== 0, text: await readFile(path, 'utf8').catch(() => null) };
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code !== 'ENOENT';
    return { isThere, isOpen: false, text: isThere ? null : '' };
  }
}

function runArguments({ stateDir, port, logLevel }: InstallOptions, workflow: string, io: Io): readonly string[] {
  return [
    ...['run', workflow],
    ...(stateDir === undefined ? [] : ['--state-dir', resolve(io.cwd, stateDir)]),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(logLevel === undefined ? [] : ['--log-level', logLevel]),
  ];
}

function placesOfAll(io: Io, etcDir: string | undefined): readonly ServicePlaces[] {
  return [placesOf('user', io), placesOf('system', { ...io, etcDir })];
}

/** What says where things of the person who installs are: the service of another user has its own. */
function withoutUser(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('XDG_')));
}

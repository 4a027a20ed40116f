import { access, chmod, constants, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SYSTEM_PATH } from '../../../runner/contain/start-process.js';
import { BatonError } from '../../domain/errors.js';
import type { LogLevel } from '../../logging/logger.js';
import { neutraliseLines } from '../../text/neutralise.js';
import type { Io } from '../io.js';
import { openWorkflow } from '../open-workflow.js';
import {
  chooseRunAs,
  findUnit,
  lastLogLines,
  type OurUnit,
  ourUnits,
  readUnit,
  refuseWithoutRoot,
  refuseWithoutSystemd,
  type ServiceFolders,
  type SystemdPrograms,
  serviceFolders,
  systemctlArgs,
  unitPath,
  variablesPath,
  withSystemd,
} from './systemd.js';
import { nameOfFolder, type Scope, type UnitMark, unitNameOf, unitText } from './unit-text.js';
import { firstVariables, unitVariables, type WantedVariables, wantedVariables } from './variables.js';

/** Writes the unit of a workflow and starts it; returns the exit code. Throws `BatonError`, if possible before anything is written. */
export async function installService(options: InstallOptions, io: Io): Promise<number> {
  const { scope, dryRun, command } = options;
  if (!dryRun) refuseWithoutRoot(scope, `${command} service install`);
  const plan = await planInstall(options, io);
  const print = (text: string) => io.stdout.write(`${neutraliseLines(text)}\n`);
  if (/[\\/]_npx[\\/]/.test(options.program.script)) print(NPX);
  if (dryRun) {
    // Does not ask systemd; an existing unit is probably active.
    io.stdout.write(formatPlan(plan, systemctlCalls(plan, plan.before !== null), true));
    for (const note of notesOf(plan)) print(note);
    return 0;
  }
  return withSystemd(scope, io, async (programs) => {
    await refuseWithoutSystemd(scope, programs);
    const calls = systemctlCalls(plan, await isActive(plan, programs));
    io.stdout.write(formatPlan(plan, calls, false));
    await writeServiceFiles(plan);
    for (const call of calls) await actOrShowLog(plan, call, programs);
    for (const note of [...notesOf(plan), ...(await lingerNote(plan, programs, io))]) print(note);
    const isStarted = calls.some((call) => call.includes('--now') || call.includes('restart'));
    const statusCommand = `${command} service status ${scope === 'system' ? '--system ' : ''}--name ${plan.name}`;
    print(
      isStarted
        ? `${plan.unit} is running. Its status: ${statusCommand}`
        : `${plan.unit} is installed, but not started.`,
    );
    return 0;
  });
}

const NPX =
  'Baton was started by npx from a cache that npm may empty. For a permanent service: npm install -g batond, then install the service with `baton`.';

async function isActive({ scope, unit }: InstallPlan, programs: SystemdPrograms): Promise<boolean> {
  const { stdout } = await programs.ask('systemctl', ...systemctlArgs(scope, ['is-active', unit]));
  return /^(?:active|activating|reloading)$/m.test(stdout);
}

/** The log of a service is the only place with the reason for a failed start. */
async function actOrShowLog(plan: InstallPlan, call: readonly string[], programs: SystemdPrograms): Promise<void> {
  try {
    await programs.act(...call);
  } catch (error) {
    const lines = call.includes('daemon-reload') ? [] : await lastLogLines(plan.scope, plan.unit, 15, programs);
    if (lines.length === 0 || !(error instanceof BatonError)) throw error;
    const log = lines.map((line) => `  ${line}`).join('\n');
    throw new BatonError('service_failed', `${error.message}\nThe end of its log:\n${log}`, {}, { cause: error });
  }
}

async function lingerNote({ scope }: InstallPlan, programs: SystemdPrograms, io: Io): Promise<readonly string[]> {
  if (scope === 'system') return [];
  const user = io.env.USER || String(process.getuid?.());
  const { stdout } = await programs.ask('loginctl', 'show-user', user, '--property=Linger', '--value');
  if (stdout.trim() === 'yes') return [];
  return [`It stops when you log out and does not start at boot, unless you run once: loginctl enable-linger ${user}`];
}

export interface UninstallOptions {
  readonly workflowPath: string;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly dryRun: boolean;
  readonly command: string;
  /** `/etc`, except in tests. */
  readonly etcDir?: string | undefined;
}

/** Stops a service and removes its unit, if Baton wrote it; its state stays. Returns the exit code. Throws `service_failed`. */
export async function uninstallService(options: UninstallOptions, io: Io): Promise<number> {
  const { scope, dryRun, name, workflowPath, etcDir, command } = options;
  if (!dryRun) refuseWithoutRoot(scope, `${command} service uninstall`);
  const folders = serviceFolders(scope, { ...io, etcDir });
  const ours = await findUnit(folders, { name, workflowPath, cwd: io.cwd });
  const unit = unitNameOf(ours.name);
  const print = (...lines: string[]) => io.stdout.write(`${neutraliseLines(lines.join('\n'))}\n`);
  const systemctlCommand = (...args: string[]) => `systemctl ${systemctlArgs(scope, args).join(' ')}`;
  const kept = await formatKept(ours);
  if (dryRun) {
    print('Would run:', `    ${systemctlCommand('disable', '--now', unit)}`, `Would remove ${ours.path}, then run:`);
    print(`    ${systemctlCommand('daemon-reload')}`, kept);
    return 0;
  }
  return withSystemd(scope, io, async (programs) => {
    await refuseWithoutSystemd(scope, programs);
    // First, because systemd could not stop a unit without its file properly.
    await programs.act('disable', '--now', unit);
    await rm(ours.path).catch((error: Error) => {
      throw new BatonError('service_failed', `${ours.path} could not be removed: ${error.message}`);
    });
    await programs.act('daemon-reload');
    // A failed unit would stay in the lists. This call fails when there is nothing to reset.
    await programs.ask('systemctl', ...systemctlArgs(scope, ['reset-failed', unit]));
    print(`${unit} is stopped and removed.`, kept);
    return 0;
  });
}

async function formatKept({ path, mark }: OurUnit): Promise<string> {
  const others = [mark.environmentFile, `${path}.d`];
  const isThere = await Promise.all(
    others.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  const left = [mark.stateDir, ...others.filter((_, index) => isThere[index])];
  return ['Kept; delete it by hand if you do not need it:', ...left.map((file) => `    ${file}`)].join('\n');
}

export interface InstallOptions {
  readonly workflowPath: string;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly runAs?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly port?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly allowChanges?: boolean | undefined;
  readonly dryRun: boolean;
  /** How Baton is started: Node and the script of the command. */
  readonly program: { readonly node: string; readonly script: string };
  /** How the user called Baton (`invocation`). */
  readonly command: string;
  /** `/etc`, except in tests. */
  readonly etcDir?: string | undefined;
  /** Where perl may be, except in tests: no folder that an agent can write. */
  readonly perl?: readonly string[] | undefined;
}

/** What the installation will do. */
export interface InstallPlan {
  readonly name: string;
  readonly unit: string;
  readonly scope: Scope;
  readonly runAs: string | null;
  readonly workflow: string;
  readonly unitFile: { readonly path: string; readonly text: string };
  /** The present unit. */
  readonly before: OurUnit | null;
  readonly variablesFile: VariablesFile;
  readonly wanted: WantedVariables;
  /** False when there is no perl to start the daemon with. */
  readonly notifies: boolean;
}

export interface VariablesFile {
  readonly path: string;
  /** The text of a new file. */
  readonly text: string;
  readonly isThere: boolean;
  /** Others can read it. */
  readonly isOpen: boolean;
}

/** Plans the installation without changing anything. Throws `BatonError`, `service_failed` for an obstacle. */
export async function planInstall(options: InstallOptions, io: Io): Promise<InstallPlan> {
  const { scope, etcDir } = options;
  const runAs = await chooseRunAs(scope, options.runAs, io);
  const env = scope === 'user' ? io.env : withoutUser(io.env);
  const world = { ...io, env, homeDir: runAs.homeDir };
  const { loaded, stateDir } = await openWorkflow(options.workflowPath, options.stateDir, world);
  const { path, dir, config, secretNames } = loaded.workflow;
  const name = options.name ?? nameOfFolder(dir);
  const unit = unitNameOf(name);
  const folders = serviceFolders(scope, { env: io.env, homeDir: io.homeDir, etcDir });
  const mark = { workflow: await realpath(path), stateDir, environmentFile: variablesPath(folders, name) };
  const before = await readUnit(folders, name);
  await refuseClash({ name, mark, before, path: unitPath(folders, name) }, allFolders(io, etcDir));

  const environment = unitVariables(io.env, scope);
  const script = await realpath(options.program.script);
  const shutdownTimeoutMs = config.runtime.shutdownTimeoutMs;
  const common = { scope, name, runAs: runAs.user, mark, environment, shutdownTimeoutMs, workingDirectory: dir };
  const daemon = [options.program.node, script, ...runArguments(options, path, io)];
  const perl = await findPerl(options.perl);
  const [program = '', ...args] = perl === null ? daemon : [perl, await realpath(LAUNCHER), ...daemon];
  const notifies = perl !== null;
  const text = unitText({ ...common, program, args, notifies });
  const file = await readVariables(mark.environmentFile);
  const allowed = [...config.runtime.envAllow, ...config.hooks.envAllow];
  const wanted = wantedVariables({ secretNames, allowed, env: io.env, unit: environment, file: file.text });
  const restart = ['systemctl', ...systemctlArgs(scope, ['restart', unit])].join(' ');
  return {
    ...{ name, unit, scope, runAs: runAs.user, workflow: path, wanted, notifies },
    unitFile: { path: unitPath(folders, name), text },
    before: before === 'foreign' ? null : before,
    variablesFile: { path: mark.environmentFile, ...file, text: firstVariables(unit, restart, secretNames) },
  };
}

const LAUNCHER = fileURLToPath(new URL('launch.pl', import.meta.url));

/** Node cannot talk to systemd. Perl can; it is part of most distributions. Returns null when there is none. */
async function findPerl(
  places: readonly string[] = SYSTEM_PATH.split(':').map((folder) => join(folder, 'perl')),
): Promise<string | null> {
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return place;
  }
  return null;
}

/** `text` is null for a file that cannot be read, as in a dry run without the rights of root. */
async function readVariables(path: string) {
  try {
    const { mode } = await stat(path);
    return { isThere: true, isOpen: (mode & 0o077) !== 0, text: await readFile(path, 'utf8').catch(() => null) };
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code !== 'ENOENT';
    return { isThere, isOpen: false, text: isThere ? null : '' };
  }
}

function runArguments(
  { stateDir, port, logLevel, allowChanges = false }: InstallOptions,
  workflow: string,
  io: Io,
): readonly string[] {
  return [
    ...['run', workflow],
    ...(stateDir === undefined ? [] : ['--state-dir', resolve(io.cwd, stateDir)]),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(allowChanges ? ['--allow-changes'] : []),
    ...(logLevel === undefined ? [] : ['--log-level', logLevel]),
  ];
}

function allFolders(io: Io, etcDir: string | undefined): readonly ServiceFolders[] {
  return [serviceFolders('user', io), serviceFolders('system', { ...io, etcDir })];
}

/** Without the folders of the installing user, since the service of another user has its own. */
function withoutUser(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('XDG_')));
}

/** The calls of systemctl after the files are written. */
export function systemctlCalls(plan: InstallPlan, isActive: boolean): readonly (readonly string[])[] {
  const { unit, before, unitFile, wanted } = plan;
  const reload = ['daemon-reload'];
  // Without its secrets the service would fail at once.
  if (wanted.missing.length > 0 && !isActive) return [reload, ['enable', unit]];
  if (!isActive || before?.text === unitFile.text) return [reload, ['enable', '--now', unit]];
  return [reload, ['enable', unit], ['restart', unit]];
}

/** What the installation does, or would do. */
export function formatPlan(plan: InstallPlan, calls: readonly (readonly string[])[], isDry: boolean): string {
  const { unit, workflow, unitFile, variablesFile, before, scope } = plan;
  const [writes, runs] = isDry ? ['Would write', 'Would run'] : ['Writes', 'Runs'];
  const unitPart =
    before?.text === unitFile.text
      ? [`${unitFile.path} already exists and is up to date.`]
      : [
          `${writes} ${unitFile.path}${before === null ? '' : ', replacing the previous one'}:`,
          ...indented(unitFile.text),
        ];
  const variablesPart = variablesFile.isThere
    ? [`${variablesFile.path} already exists and stays unchanged.`]
    : [`${writes} ${variablesFile.path}, readable by its owner only:`, ...indented(variablesFile.text)];
  const lines = [
    `${unit}, the service of ${workflow}`,
    '',
    ...unitPart,
    '',
    ...variablesPart,
    '',
    `${runs}:`,
    ...calls.map((args) => `    systemctl ${systemctlArgs(scope, args).join(' ')}`),
    '',
  ];
  return `${neutraliseLines(lines.join('\n'))}\n`;
}

/** What else the user should know or do. */
export function notesOf(plan: InstallPlan): readonly string[] {
  const { scope, unit, wanted, variablesFile, runAs, notifies } = plan;
  const start = `systemctl ${systemctlArgs(scope, ['restart', unit]).join(' ')}`;
  const { missing, leftBehind } = wanted;
  return [
    ...(missing.length === 0
      ? []
      : [
          `The workflow needs ${missing.join(', ')}: put ${missing.length > 1 ? 'them' : 'it'} into ${variablesFile.path}, then: ${start}`,
        ]),
    ...(leftBehind.length === 0
      ? []
      : [
          `Set here, but not for the service: ${leftBehind.join(', ')}. Put those that it needs into ${variablesFile.path}.`,
        ]),
    ...(variablesFile.isOpen ? [`Other users can read ${variablesFile.path}: run chmod 600 on it.`] : []),
    ...(notifies ? [] : [WITHOUT_PERL]),
    ...(runAs === 'root' ? ['It runs as root, and so do its agents: they can read and change everything.'] : []),
  ];
}

const WITHOUT_PERL =
  'Perl is missing, so the daemon cannot notify systemd: a failed start is only visible in its log and status, and a daemon that hangs is not restarted. Install perl, then install the service again.';

function indented(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `    ${line}`));
}

/** Writes the files. Never touches an existing file of variables. Throws `service_failed`. */
export async function writeServiceFiles({ unitFile, variablesFile, before }: InstallPlan): Promise<void> {
  try {
    if (!variablesFile.isThere) await createPrivate(variablesFile);
    if (before?.text !== unitFile.text) await replace(unitFile);
  } catch (error) {
    const message = `a file of the service could not be written: ${(error as Error).message}`;
    throw new BatonError('service_failed', message, {}, { cause: error });
  }
}

interface NewFile {
  readonly path: string;
  readonly text: string;
}

async function createPrivate({ path, text }: NewFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { flag: 'wx', mode: 0o600 });
}

/** Refolders the file atomically, since systemd may read it at any time. */
async function replace({ path, text }: NewFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const half = `${path}.${process.pid}.new`;
  try {
    await writeFile(half, text, { flag: 'wx' });
    // Regardless of the umask: it contains no secret, and `systemctl cat` works for every user.
    await chmod(half, 0o644);
    await rename(half, path);
  } finally {
    await rm(half, { force: true });
  }
}

export interface WantedUnit {
  readonly name: string;
  readonly path: string;
  readonly mark: UnitMark;
  /** The file at its path. */
  readonly before: OurUnit | 'foreign' | null;
}

/** Throws `service_failed` when the installation would overwrite another unit or start a second daemon for a workflow. */
export async function refuseClash(wanted: WantedUnit, folders: readonly ServiceFolders[]): Promise<void> {
  const { path, mark, before } = wanted;
  const { workflow } = mark;
  if (before === 'foreign') {
    throw new BatonError(
      'service_failed',
      `${path} was not written by Baton, so it is left alone. Choose another name: --name`,
    );
  }
  if (before !== null && before.mark.workflow !== workflow) {
    const message = `${path} is the service of ${before.mark.workflow}. Choose another name: --name`;
    throw new BatonError('service_failed', message);
  }
  const units = (await Promise.all(folders.map(ourUnits))).flat();
  const other = units.find((unit) => unit.mark.workflow === workflow && unit.path !== path);
  if (!other) return;
  const message = `${workflow} has a service already: ${other.name} (${other.path}). Uninstall it first, or install with --name ${other.name} to change it`;
  throw new BatonError('service_failed', message);
}

import { BatonError } from '../../domain/errors.js';
import { neutraliseLines } from '../../text/neutralise.js';
import type { Io } from '../io.js';
import { refuseWithoutSystemd } from './find-systemd.js';
import { lastLogLines } from './log-lines.js';
import { type InstallOptions, type InstallPlan, planInstall } from './plan-install.js';
import { refuseWithoutRoot } from './run-as.js';
import { type SystemdPrograms, systemctlArgs, withSystemd } from './systemd.js';
import { notesOf, systemctlCalls, tellPlan } from './tell-plan.js';
import { writeServiceFiles } from './write-service-files.js';

/** Writes the unit of a workflow and starts it; the exit code. Throws `BatonError`, before anything is written where it can. */
export async function installService(options: InstallOptions, io: Io): Promise<number> {
  const { scope, dryRun, command } = options;
  if (!dryRun) refuseWithoutRoot(scope, `${command} service install`);
  const plan = await planInstall(options, io);
  const tell = (text: string) => io.stdout.write(`${neutraliseLines(text)}\n`);
  if (/[\\/]_npx[\\/]/.test(options.program.script)) tell(NPX);
  if (dryRun) {
    // Nobody is asked whether it runs; where a unit is there, it most likely does.
    io.stdout.write(tellPlan(plan, systemctlCalls(plan, plan.before !== null), true));
    for (const note of notesOf(plan)) tell(note);
    return 0;
  }
  return withSystemd(scope, io, async (programs) => {
    await refuseWithoutSystemd(scope, programs);
    const calls = systemctlCalls(plan, await isActive(plan, programs));
    io.stdout.write(tellPlan(plan, calls, false));
    await writeServiceFiles(plan);
    for (const call of calls) await actOrShowLog(plan, call, programs);
    for (const note of [...notesOf(plan), ...(await lingerNote(plan, programs, io))]) tell(note);
    const isStarted = calls.some((call) => call.includes('--now') || call.includes('restart'));
    const look = `${command} service status ${scope === 'system' ? '--system ' : ''}--name ${plan.name}`;
    tell(
      isStarted ? `${plan.unit} is running. Look at it with: ${look}` : `${plan.unit} is installed, but not started.`,
    );
    return 0;
  });
}

const NPX =
  'Baton was started by npx, from a cache that npm empties now and then. For a service that lasts: npm install -g batond, then install the service with `baton`.';

async function isActive({ scope, unit }: InstallPlan, programs: SystemdPrograms): Promise<boolean> {
  const { stdout } = await programs.ask('systemctl', ...systemctlArgs(scope, ['is-active', unit]));
  return /^(?:active|activating|reloading)$/m.test(stdout);
}

/** A service that does not come up says why in its log, and nowhere else. */
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
  return [
    `It stops when you log out, and does not start with the machine, unless you once run: loginctl enable-linger ${user}`,
  ];
}

import { join, resolve } from 'node:path';
import { mainHold } from '../../orchestrator/holds.js';
import type { State } from '../../orchestrator/state.js';
import { startDaemon } from '../daemon/daemon.js';
import { demoAgentCommand } from '../demo/demo-agent-command.js';
import { ERRORS } from '../domain/error-table.js';
import { createLogger } from '../logging/logger.js';
import { createRedactor } from '../logging/redact.js';
import { defaultLockDir, openStateDir } from '../state-dir.js';
import { neutralise } from '../text/neutralise.js';
import type { Io } from './io.js';
import { invocation, shellWord, shorter } from './io.js';
import { type Demo, makeDemo } from './make-demo.js';
import { openWorkflow } from './open-workflow.js';
import { endOnFault, hearSignals } from './run.js';
import { RunTeller } from './run-view.js';

export interface DemoOptions {
  readonly folder: string;
  readonly agent: 'demo' | 'codex';
  readonly version: string;
}

/** Makes a folder of its own and works there on sample issues, with the real daemon, until all are done. */
export async function demo({ folder, agent, version }: DemoOptions, io: Io): Promise<number> {
  const agentCommand = agent === 'codex' ? 'codex app-server' : demoAgentCommand(io.env);
  const made = await makeDemo(resolve(io.cwd, folder), { agentCommand, env: io.env });
  io.stdout.write(opening(made, agent, io));
  const logFile = join(made.dir, 'baton.log');
  const redactor = createRedactor();
  const log = createLogger({ level: 'info', redactor, stream: null, file: { path: logFile } });
  const stateDir = join(made.dir, 'state');
  const teller = new RunTeller(io.stdout, redactor);
  const signals = hearSignals();
  endOnFault(log);
  let tellEnd = (_end: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    tellEnd = resolve;
  });
  const daemon = await startDaemon({
    ...(await openWorkflow(made.workflowPath, stateDir, io)),
    lockDir: defaultLockDir(io.env, io.homeDir),
    stateDir: await openStateDir(stateDir),
    log,
    redactor,
    env: io.env,
    homeDir: io.homeDir,
    version,
    observer: teller,
    onDecided: (event, state) => {
      teller.decided(event, state, Date.now());
      const end = endingOf(state);
      if (end !== null) tellEnd(end);
    },
  });
  void ended.then(() => daemon.dispatch({ type: 'shutdown_requested' }));
  signals.stop(daemon);
  const code = await daemon.exited;
  const end = await Promise.race([ended, STOPPED]);
  io.stdout.write(closing(made, end, io));
  return code === 0 && end.ok ? 0 : 1;
}

interface Ending {
  readonly ok: boolean;
  readonly why: string;
}

/** Told by a signal to stop, it ends without having come to an end. */
const STOPPED: Ending = { ok: false, why: 'it was stopped before everything was done' };

/** Done, or stuck in a way that only a person can help; `null` while it goes on. */
function endingOf(state: State): Ending | null {
  const { poll, claims, candidates, removals, shutdown } = state;
  if (shutdown !== null) return null;
  const main = mainHold(state);
  if (main) return { ok: false, why: `${main.hold.message}. ${ERRORS[main.hold.code].action}` };
  const parked = Object.values(claims).find(({ status }) => status.kind === 'parked');
  if (parked?.status.kind === 'parked')
    return { ok: false, why: `${parked.issue.identifier} was parked: ${parked.status.message}` };
  if (poll.failure) return { ok: false, why: poll.failure.message };
  const isIdle = Object.keys(claims).length === 0 && Object.keys(removals).length === 0;
  return poll.lastOkAtMs !== null && isIdle && Object.keys(candidates).length === 0 ? { ok: true, why: '' } : null;
}

function opening({ dir, issues }: Demo, agent: 'demo' | 'codex', io: Io): string {
  const who = agent === 'codex' ? 'Codex, with your login and at your cost' : 'the demo agent, no model involved';
  return [
    `${issues.length} issues in ${shellWord(shorter(join(dir, 'backlog', 'tasks'), io.cwd))}, two at a time, worked on by ${who}.`,
    'To look at it from another terminal, in this folder:',
    `    ${invocation(process.argv, io.cwd)} status --state-dir ${shellWord(shorter(join(dir, 'state'), io.cwd))}`,
    '',
    '',
  ].join('\n');
}

function closing({ dir, issues }: Demo, end: Ending, io: Io): string {
  const baton = invocation(process.argv, io.cwd);
  const here = (...parts: string[]) => shellWord(shorter(join(dir, ...parts), io.cwd));
  const column = (...parts: string[]) => here(...parts).padEnd(here('backlog', 'tasks').length);
  const head = end.ok
    ? `All ${issues.length} issues are done.`
    : `The demo did not come to its end: ${neutralise(end.why)}`;
  return `
${head}

Where things are
  ${column('WORKFLOW.md')}   the one file that configures it: read it, it is short
  ${column('backlog', 'tasks')}   the issues, now ${end.ok ? 'Done, each with a comment of its agent' : 'as far as they got'}
  ${column('project.git')}   the work, a branch for each issue:
      git -C ${here('project.git')} log --all --oneline --stat
  ${column('baton.log')}   the log; a transcript of each run is in ${here('state', 'transcripts')}

What to try next
  See what was done, and what one of the agents did:
      ${baton} report ${here('WORKFLOW.md')} --state-dir ${here('state')}
      ${baton} logs TASK-1 ${here('WORKFLOW.md')} --state-dir ${here('state')}
  Let it run, with its page on a port, and set \`status: To Do\` in one of the issues:
      ${baton} ${here('WORKFLOW.md')} --state-dir ${here('state')} --port 4711
  and open that page from another terminal; status, explain TASK-1 and pause go like this, too:
      ${baton} open --state-dir ${here('state')}
  Let Codex do it in your own repository:
      cd path/to/your/repository && ${invocation(process.argv, dir)} init
`;
}

import { tmpdir } from 'node:os';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { environmentFor } from '../../../runner/environment.js';
import { createClock } from '../../clock.js';
import type { TrackerRegistry } from '../../tracker/registry.js';
import type { Io } from '../io.js';
import { askLoginShell } from '../login-shell.js';
import { type GitFacts, gitFacts } from './git-facts.js';
import { STARTER_KINDS } from './starters.js';

export interface AgentChoice {
  readonly name: string;
  readonly command: string;
  readonly isInstalled: boolean;
}

/** What there is to choose from, and what git knows. The first of each is what we propose. */
export interface Surroundings {
  readonly git: GitFacts;
  readonly agents: readonly AgentChoice[];
  readonly trackers: readonly string[];
}

export async function lookAround(
  dir: string,
  io: Io,
  registry: TrackerRegistry,
  demoAgentCommand: string | undefined,
): Promise<Surroundings> {
  const [git, hasCodex] = await Promise.all([gitFacts(dir, io), isCodexInstalled(dir, io)]);
  const codex = { name: 'codex', command: 'codex app-server', isInstalled: hasCodex };
  const demo = { name: 'demo', command: demoAgentCommand ?? '', isInstalled: demoAgentCommand !== undefined };
  const agents = demo.isInstalled ? (hasCodex ? [codex, demo] : [demo, codex]) : [codex];
  const trackers = STARTER_KINDS.map(({ kind }) => kind).filter((kind) => registry.kinds.includes(kind));
  return { git, agents, trackers };
}

/** By the shell that would start it: a codex that only the terminal finds is not installed for the daemon. */
async function isCodexInstalled(cwd: string, io: Io): Promise<boolean> {
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const extra = { TMPDIR: tmpdir() };
    const request = { base: io.env, policy: 'allowlist', allow: [], hookAllow: [], secretNames: [], extra } as const;
    const shell = await askLoginShell({ word: 'codex', ...environmentFor('agent', request), cwd }, containment);
    return typeof shell !== 'string' && shell.found.startsWith('/');
  } finally {
    clock.close();
  }
}

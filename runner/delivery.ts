import { constants } from 'node:fs';
import { lstat, open, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { DEFAULT_BACKLOG } from '../src/domain/config.js';
import type { KnownSecrets } from '../src/domain/find-secrets.js';
import { escapeGlob } from '../src/domain/glob.js';
import type { Issue } from '../src/domain/issue.js';
import type { Question } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import { compilePrompt } from '../templates/render-prompt.js';
import type { Delivery } from './git/delivery-file.js';
import { DEFAULT_RULES, type PathRule } from './git/protected-paths.js';
import type { HeldPush } from './git/review-push.js';

const DELIVERY_FILE = 'delivery.json';
const HOLD_FILE = 'held-push.json';
const MAX_HOLD_BYTES = 1_000_000;

interface DeliveryRequest {
  readonly workflow: Pick<Workflow, 'path' | 'dir' | 'config'>;
  readonly issue: Issue;
  /** The digest of the held push that a person has approved. */
  readonly approved: string | null;
  readonly secrets: KnownSecrets;
}

/**
 * Tells the git program of a hook where and what it may push. It describes secrets of the daemon and decides what is pushed, so agents
 * must not see `folder`.
 */
export async function writeDeliveryFile(folder: string, request: DeliveryRequest): Promise<string> {
  const { workflow, issue, approved, secrets } = request;
  const { branch, protectedPaths } = workflow.config.delivery;
  const own = await workflowRules(workflow);
  const users = Object.entries(protectedPaths).map(([glob, action]): PathRule => ({ glob, action }));
  const delivery: Delivery = {
    branch: branch === null ? null : renderBranch(branch, issue),
    rules: [...DEFAULT_RULES, ...own, ...users],
    approved,
    holdFile: join(folder, HOLD_FILE),
    secrets,
  };
  const path = join(folder, DELIVERY_FILE);
  await writeFile(path, JSON.stringify(delivery), { mode: 0o600, flag: 'wx' });
  return path;
}

function renderBranch(template: string, issue: Issue): string {
  const source = { text: template, file: 'delivery.branch', startLine: 1 };
  return compilePrompt<{ issue: Issue }>(source).render({ issue });
}

/**
 * The files of the workflow, where they are in its repository: an agent's branch with other ones must not reach an operator's checkout.
 * A link among them leads to another file of the repository, which counts too.
 */
async function workflowRules({ path, dir, config }: DeliveryRequest['workflow']): Promise<PathRule[]> {
  const root = await repositoryRoot(dir);
  const { kind, provider } = config.tracker;
  const board = typeof provider.path === 'string' ? provider.path.trim() : DEFAULT_BACKLOG;
  const files = [path, join(dir, '.baton'), join(dir, '.codebolt'), ...(kind === 'local' ? [resolve(dir, board)] : [])];
  const realRoot = await realpath(root).catch(() => root);
  const realFiles = await Promise.all(files.map((file) => realpath(file).catch(() => realRoot)));
  const places = [...files.map((file) => relative(root, file)), ...realFiles.map((file) => relative(realRoot, file))];
  return [...new Set(places)].flatMap((inside): PathRule[] => {
    const isInside = inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`);
    return isInside ? [{ glob: `/${escapeGlob(inside.split(sep).join('/'))}`, action: 'leave_out' }] : [];
  });
}

async function repositoryRoot(dir: string): Promise<string> {
  for (let folder = dir; ; folder = dirname(folder)) {
    const isRoot = await lstat(join(folder, '.git')).then(
      () => true,
      () => false,
    );
    if (isRoot) return folder;
    if (dirname(folder) === folder) return dir;
  }
}

/** The push that the hook with this folder has held; null when there is none. */
export async function readHeldPush(folder: string): Promise<HeldPush | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(folder, HOLD_FILE), flags).catch(() => null);
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_HOLD_BYTES) return null;
    const { digest, text, isCut } = JSON.parse(await handle.readFile('utf8')) as Partial<HeldPush>;
    return typeof digest === 'string' && typeof text === 'string' ? { digest, text, isCut: isCut !== false } : null;
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}

/** Always the same for the same content of a run, so it is asked only once. */
export function pushQuestion(runId: string, { digest, text, isCut }: HeldPush): Question {
  const id = `${runId}:push:${digest.slice(0, 12)}`;
  return { id, kind: 'approval', text, fields: [], heldPush: digest, ...(isCut ? { isCut: true } : {}) };
}

import { acceptedShape } from '../api/schemas.js';
import type { AllowedContent } from '../domain/workflow.js';
import { createRedactor } from '../logging/redact.js';
import { openStateDir } from '../state-dir.js';
import { stateKey, takeLocks } from '../store/instance-lock.js';
import { readAllowed } from '../store/read-stored.js';
import { openSqliteStore } from '../store/sqlite-store.js';
import { neutraliseLines } from '../text/neutralise.js';
import { unifiedDiff } from '../text/unified-diff.js';
import { allowedContent, heldChanges } from '../workflow/allowed-content.js';
import { resolveSecret } from '../workflow/secrets.js';
import { connectDaemon, type DaemonClient, type DaemonTarget, isNotRunning, printDaemonError } from './client.js';
import { type Io, printProblem } from './io.js';
import { openWorkflow } from './open-workflow.js';
import { openPrompt, PromptClosed } from './prompt.js';

export interface AllowOptions {
  readonly target: DaemonTarget;
  readonly yes: boolean;
}

/** More time than other requests have: the daemon reads the file and its code again. */
const ALLOW_MS = 60_000;

/** Shows the changes of WORKFLOW.md that wait, and allows exactly these; the exit code. Throws `BatonError`. */
export async function allow({ target, yes }: AllowOptions, io: Io): Promise<number> {
  const { loaded, stateDir } = await openWorkflow(target.workflow ?? 'WORKFLOW.md', target.stateDir, io);
  const { workflow, text, literalSecrets } = loaded;
  const print = (lines: string) => void io.stdout.write(`${neutraliseLines(lines)}\n`);
  const before = await readAllowed(stateDir, workflow.path);
  if (before === null) {
    print(`No daemon has started with ${workflow.path} yet. The content at its first start counts as allowed.`);
    return 0;
  }
  const changes = heldChanges(before, workflow);
  if (changes.length === 0) {
    print(`Nothing in ${workflow.path} waits to be allowed.`);
    return 0;
  }
  const redactor = createRedactor(literalSecrets);
  for (const name of workflow.secretNames) redactor.add(resolveSecret(`$${name}`, io.env) ?? '');
  print(redactor.mask(formatChanges(before, changes, text)));
  const isAllowed = yes || (await ask(io));
  if (isAllowed === null) return printProblem('nothing was allowed. Run it in a terminal, or add --yes', 2, io);
  if (!isAllowed) {
    print('Nothing was allowed.');
    return 1;
  }
  return take(allowedContent(workflow, text, Date.now()), stateDir, (json) => redactor.maskJson(json), io);
}

function formatChanges({ path, text: before }: AllowedContent, changes: readonly string[], text: string): string {
  const diff = unifiedDiff(path, before, text);
  return [
    `Changes of ${path} that decide what runs or what is allowed:`,
    ...changes.map((change) => `  ${change}`),
    ...(diff === '' ? [] : ['', diff]),
    '',
  ].join('\n');
}

/** Returns null when there is no terminal. */
async function ask(io: Io): Promise<boolean | null> {
  if (!io.isTTY) return null;
  const prompt = openPrompt(io);
  try {
    return /^y(?:es)?$/i.test(await prompt.ask('Allow exactly this? [y/N]', ''));
  } catch (error) {
    if (error instanceof PromptClosed) return false;
    throw error;
  } finally {
    prompt.close();
  }
}

/** Asks the daemon; without one, writes its store. */
async function take(
  content: AllowedContent,
  stateDir: string,
  clean: (json: string) => string,
  io: Io,
): Promise<number> {
  const print = (text: string) => void io.stdout.write(`${neutraliseLines(text)}\n`);
  let client: DaemonClient | null = null;
  try {
    client = await connectDaemon({ workflow: content.path, stateDir }, io);
    print((await client.post('/api/v1/allow', { hash: content.hash }, acceptedShape, ALLOW_MS)).message);
    return 0;
  } catch (error) {
    if (!isNotRunning(error)) return printDaemonError(error, io);
  } finally {
    client?.close();
  }
  await storeAllowed(content, stateDir, clean);
  print('Allowed. No daemon is running; the next one starts with this content.');
  return 0;
}

/** Holds the lock of a daemon meanwhile. Throws `already_running`. */
async function storeAllowed(content: AllowedContent, stateDir: string, clean: (json: string) => string): Promise<void> {
  const { path } = await openStateDir(stateDir);
  const holder = { pid: process.pid, since: new Date().toISOString(), workflow: content.path, stateDir: path };
  const lock = await takeLocks({ keys: [stateKey(path)], dir: path, holder });
  try {
    const store = openSqliteStore({ dir: path, clean, onWarning: () => {} });
    try {
      await store.allowed.put(content);
    } finally {
      await store.close();
    }
  } finally {
    await lock.release();
  }
}

import { BatonError, toBatonError } from '../domain/errors.js';
import type { Store } from '../domain/ports.js';
import { shellWord } from '../domain/shell-word.js';
import type { AllowedContent, Workflow } from '../domain/workflow.js';
import { defaultStateDir } from '../state-dir.js';
import { readAllowed } from '../store/read-stored.js';
import { allowedContent, heldChanges } from '../workflow/allowed-content.js';
import { workflowKey } from '../workflow/workflow-key.js';
import type { DaemonOptions } from './options.js';

type GateOptions = Pick<DaemonOptions, 'loaded' | 'allowChanges' | 'stateDir' | 'env' | 'homeDir'>;

/**
 * Throws `workflow_not_allowed` when the file differs from the content that was last in effect in what runs or what is allowed: an
 * agent's branch may be checked out when the machine starts. The first content of a file counts as allowed. Returns what was allowed last.
 */
export async function admitWorkflow(
  options: GateOptions,
  { allowed }: Pick<Store, 'allowed'>,
  isReopened: boolean,
): Promise<AllowedContent> {
  const { workflow, text } = options.loaded;
  const before = await allowed.get(workflow.path);
  if (isReopened && before !== null) return before;
  const changes = before === null || options.allowChanges ? [] : heldChanges(before, workflow);
  if (changes.length > 0) {
    const command = await allowCommand(options);
    const message = `${workflow.path} has changed in what runs or what is allowed since it was last in effect: ${changes.join('; ')}. Look at the changes and allow them: ${command}. Or start with --allow-changes`;
    throw new BatonError('workflow_not_allowed', message, { changes });
  }
  const content = allowedContent(workflow, text, Date.now());
  await allowed.put(content);
  return content;
}

const ASKED = /^(?:tracker\.(?:kind|provider)\b|file )/;

/**
 * Throws `workflow_not_allowed` when the tracker, its settings or its program wait to be allowed. Commands that only look, such as
 * `baton check`, must not run that program, nor send a token to another address.
 */
export async function assertTrackerAllowed(workflow: Workflow, stateDir: string): Promise<void> {
  const before = await readAllowed(stateDir, workflow.path);
  const changes = before === null ? [] : heldChanges(before, workflow).filter((change) => ASKED.test(change));
  if (changes.length === 0) return;
  const message = `the tracker is not asked, because ${workflow.path} has changes that nobody has allowed: ${changes.join('; ')}`;
  throw new BatonError('workflow_not_allowed', message, { changes });
}

/** What a person types to allow the changes of this daemon's workflow. */
export async function allowCommand({ loaded, stateDir, env, homeDir }: GateOptions): Promise<string> {
  const { path } = loaded.workflow;
  const isUsual = defaultStateDir(await workflowKey(path), env, homeDir) === stateDir.path;
  return `baton allow ${shellWord(path)}${isUsual ? '' : ` --state-dir ${shellWord(stateDir.path)}`}`;
}

/** Stores what is in effect, for the next start. Never rejects. */
export async function keepAllowed(
  content: AllowedContent,
  store: Pick<Store, 'allowed'>,
  log: DaemonOptions['log'],
): Promise<void> {
  await store.allowed
    .put(content)
    .catch((error: unknown) =>
      log.error({ detail: toBatonError(error).message }, 'the allowed workflow could not be stored'),
    );
}

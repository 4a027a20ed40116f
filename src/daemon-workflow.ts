import { compilePrompt } from '../templates/render-prompt.js';
import type { DaemonOptions } from './daemon.js';
import type { Parts } from './daemon-parts.js';
import type { Dispatch } from './domain/ports.js';
import { parseWorkflow } from './workflow/load-workflow.js';
import { type WorkflowWatcher, watchWorkflow } from './workflow/watch-workflow.js';
import type { WorkflowBook } from './workflow-book.js';

/** New settings reach the core as an event; bad ones reach the log, and nothing else. */
export function followWorkflow(
  options: DaemonOptions,
  { clock }: Parts,
  book: WorkflowBook,
  dispatch: Dispatch,
): Promise<WorkflowWatcher> {
  const { log, redactor, trackers, env, homeDir } = options;
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const tellWarnings = (warnings: readonly string[]) => {
    for (const warning of warnings) log.warn({ detail: warning }, 'workflow warning');
  };
  tellWarnings(book.current.warnings);
  return watchWorkflow({
    path: book.current.path,
    initial: book.current,
    clock,
    load: async (file) => {
      const loaded = await parseWorkflow(file, { env, homeDir, trackerKinds });
      compilePrompt(loaded.workflow.prompt);
      return loaded;
    },
    onChange: ({ workflow, changes, restartRequired, literalSecrets }) => {
      for (const secret of literalSecrets) redactor.add(secret);
      log.info({ changes }, 'workflow changed, applies to what starts next');
      tellWarnings(workflow.warnings);
      if (restartRequired.length > 0)
        log.warn({ restart_required: restartRequired }, 'keys that need a restart keep their old values');
      book.take(workflow);
      dispatch({ type: 'config_changed', config: workflow.config, workflowHash: workflow.hash });
    },
    onError: ({ code, message }) =>
      log.error({ code, detail: message }, 'workflow is faulty, the last good settings stay'),
    onRecovered: () => log.info('workflow is good again'),
    onWatchError: ({ message }) =>
      log.warn({ detail: message }, 'workflow cannot be watched, looking before each poll'),
  });
}

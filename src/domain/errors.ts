/**
 * Every error a person can meet, in one table. `scope` says who is at fault: `issue` backs off and retries that issue
 * alone, `daemon` would hit every issue alike and so holds the daemon, `park` waits for a person, `none` is not a
 * failure (we ended the run ourselves). `retryable` is about one step inside a run (EXECUTION.md section 6).
 */
export type ErrorScope = 'issue' | 'daemon' | 'park' | 'none';

interface ErrorFacts {
  readonly scope: ErrorScope;
  readonly retryable: boolean;
  readonly text: string;
  readonly action: string;
}

const facts = (scope: ErrorScope, retryable: boolean, text: string, action: string): ErrorFacts => ({
  scope,
  retryable,
  text,
  action,
});

export const ERRORS = {
  // Workflow file
  missing_workflow_file: facts(
    'daemon',
    false,
    'WORKFLOW.md could not be read',
    'Give its path, or create it in this folder.',
  ),
  workflow_parse_error: facts('daemon', false, 'The front matter is not valid YAML', 'Fix the named line and column.'),
  workflow_front_matter_not_a_map: facts(
    'daemon',
    false,
    'The front matter is not a map of settings',
    'Write `key: value` lines between the two `---` lines.',
  ),
  invalid_workflow_config: facts('daemon', false, 'A setting has a wrong type or value', 'Fix the named key.'),
  unsupported_tracker_kind: facts(
    'daemon',
    false,
    'tracker.kind names no known tracker',
    'Use one of the listed kinds.',
  ),
  invalid_tracker_config: facts(
    'daemon',
    false,
    'The tracker settings are incomplete or wrong',
    'Fix the named key under `tracker`.',
  ),
  missing_tracker_secret: facts(
    'daemon',
    false,
    'The tracker token is missing or empty',
    'Set the named environment variable.',
  ),

  // Tracker
  tracker_request: facts(
    'issue',
    true,
    'The tracker could not be reached',
    'Check the network and the endpoint; Baton tries again.',
  ),
  tracker_status: facts(
    'issue',
    true,
    'The tracker answered with an error status',
    'See the status in the message; Baton tries again.',
  ),
  tracker_auth: facts(
    'daemon',
    false,
    'The tracker refused the token',
    'Renew the token in the named environment variable.',
  ),
  tracker_response: facts(
    'issue',
    false,
    'The tracker answered with something unreadable',
    'Check endpoint and adapter.',
  ),
  tracker_pagination: facts(
    'issue',
    true,
    'The pages of the tracker do not fit together',
    'Baton reads them again at the next poll.',
  ),
  tracker_rate_limited: facts(
    'issue',
    true,
    'The tracker limits our requests',
    'Nothing: Baton waits for the named reset.',
  ),

  // Workspace
  invalid_workspace_root: facts(
    'daemon',
    false,
    'workspace.root cannot be used',
    'Choose an own, writable folder that nobody else can write.',
  ),
  unsafe_identifier: facts(
    'issue',
    false,
    'The identifier cannot name a workspace',
    'Rename the issue in the tracker.',
  ),
  workspace_not_a_directory: facts(
    'issue',
    false,
    'A file or symlink is where the workspace should be',
    'Move it away; Baton never deletes it.',
  ),
  workspace_owned_by_another: facts(
    'issue',
    false,
    'The workspace folder belongs to another issue',
    'Rename one of the two issues, or remove the folder.',
  ),
  workspace_outside_root: facts(
    'issue',
    false,
    'The workspace is not inside workspace.root',
    'Remove the symlink that leads outside.',
  ),
  workspace_changed: facts(
    'issue',
    false,
    'The workspace was replaced between check and start',
    'Find out who swaps folders below workspace.root.',
  ),
  workspace_failed: facts('issue', true, 'The workspace could not be made or removed', 'See the cause in the message.'),
  low_disk: facts(
    'daemon',
    false,
    'The disk of the workspaces is nearly full',
    'Free space, or lower workspace.min_free_mb.',
  ),

  // Hooks, prompt, environment
  hook_failed: facts(
    'issue',
    false,
    'A hook exited with an error',
    'Read its output in the log; run it by hand in the workspace.',
  ),
  hook_timeout: facts('issue', false, 'A hook ran past hooks.timeout_ms', 'Make it faster or raise hooks.timeout_ms.'),
  template_parse_error: facts('daemon', false, 'The prompt is not valid Liquid', 'Fix the named line and column.'),
  template_render_error: facts(
    'issue',
    false,
    'The prompt could not be rendered for this issue',
    'Fix the named line and column.',
  ),
  prompt_too_large: facts(
    'issue',
    false,
    'The rendered prompt is over its size limit',
    'Shorten the template or the issue.',
  ),
  invalid_environment: facts(
    'issue',
    false,
    'The environment of a process is not acceptable',
    'Remove NUL bytes and values of over 100 kB.',
  ),

  // Processes
  spawn_failed: facts('issue', true, 'A process could not be started', 'See the cause in the message.'),
  isolation_unavailable: facts(
    'daemon',
    false,
    'runtime.isolation: pidns is set, but namespaces do not work here',
    'Allow user namespaces, or set runtime.isolation to auto.',
  ),
  unkillable: facts(
    'park',
    false,
    'A process of the run outlives SIGKILL',
    'Look for a hung disk or device; the slot is free once it is gone.',
  ),

  // Codex app-server
  codex_not_found: facts(
    'daemon',
    false,
    'The agent command was not found',
    'Install it, or fix codex.command; check the PATH of the daemon.',
  ),
  invalid_workspace_cwd: facts(
    'issue',
    false,
    'The agent would not start in its workspace',
    'Report this: it should not happen.',
  ),
  response_timeout: facts(
    'issue',
    true,
    'The agent did not answer a request within codex.read_timeout_ms',
    'Raise it on a slow machine.',
  ),
  turn_timeout: facts(
    'issue',
    true,
    'A turn took longer than codex.turn_timeout_ms',
    'Split the issue or raise the limit.',
  ),
  port_exit: facts(
    'issue',
    true,
    'The agent process ended in the middle of its work',
    'Read its stderr in the transcript.',
  ),
  response_error: facts('issue', true, 'The agent answered a request with an error', 'See the message.'),
  turn_failed: facts('issue', true, 'The agent reports that its turn failed', 'See the message.'),
  turn_cancelled: facts('issue', true, 'The turn was interrupted', 'Nothing: Baton tries again.'),
  turn_input_required: facts(
    'park',
    false,
    'The agent needs an answer from a person',
    'Answer it, or set codex.on_approval_request to ask.',
  ),
  line_too_long: facts(
    'issue',
    false,
    'The agent sent a line of over 10 MB',
    'Keep the agent from printing whole files.',
  ),
  stall_timeout: facts(
    'issue',
    true,
    'The agent made no progress for codex.stall_timeout_ms',
    'Raise it when silence is normal.',
  ),
  agent_unauthorized: facts('daemon', false, 'The model service refused the credentials (401 or 403)', 'Log in again.'),
  agent_quota: facts(
    'daemon',
    false,
    'The quota or rate limit of the model service is used up',
    'Nothing: Baton tries again at the reset.',
  ),
  agent_model_not_found: facts(
    'daemon',
    false,
    'The model service does not know the model',
    'Fix the model in the settings of the agent.',
  ),
  agent_unreachable: facts(
    'daemon',
    true,
    'The model service cannot be reached',
    'Check network and proxy; Baton probes again.',
  ),

  // We ended it ourselves
  CANCELLED_BY_ORCHESTRATOR: facts('none', false, 'The run was ended because its issue moved', 'Nothing.'),
  INTERRUPTED: facts('none', false, 'The run was interrupted by a shutdown', 'Nothing: it goes on after the restart.'),
  STOPPED_BY_OPERATOR: facts('park', false, 'An operator stopped the run', '`retry` the issue to go on.'),
  budget_exceeded: facts(
    'park',
    false,
    'The token budget is spent',
    'Raise agent.max_tokens_per_issue, or `retry` to grant it once more.',
  ),

  // Daemon
  store_failed: facts(
    'daemon',
    true,
    'The state could not be stored',
    'Check disk space and rights of the state directory.',
  ),
  internal_error: facts('issue', false, 'Baton itself failed', 'Report this with the log.'),
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof ERRORS;

export class BatonError extends Error {
  override readonly name = 'BatonError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: { readonly [key: string]: unknown } = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function scopeOf(code: ErrorCode): ErrorScope {
  return ERRORS[code].scope;
}

/** What an unknown thrown value becomes at the edge of a module that must not throw anything else. */
export function toBatonError(error: unknown, fallback: ErrorCode = 'internal_error'): BatonError {
  if (error instanceof BatonError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new BatonError(fallback, message, {}, { cause: error });
}

/**
 * The consequence of an error: `issue` retries that issue after a backoff, `daemon` affects every issue and so holds the daemon,
 * `park` waits for a person, `none` is not a failure, because Baton ended the run itself.
 */
export type ErrorScope = 'issue' | 'daemon' | 'park' | 'none';

interface ErrorFacts {
  readonly scope: ErrorScope;
  /** May a step be repeated inside its run? The backoff between runs does not depend on it. */
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

/** Errors before a run: the workflow file, the tracker, the folder of workspaces. */
const SETUP_ERRORS = {
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

  workflow_not_allowed: facts(
    'daemon',
    false,
    'WORKFLOW.md or code that it runs has changes that nobody has allowed',
    'Look at them with `baton allow`, and allow them if they are yours.',
  ),

  // One instance
  already_running: facts(
    'daemon',
    false,
    'Another daemon works on the same workspaces or issues',
    'Stop the named daemon, or give this one other workspaces and issues.',
  ),

  // Tracker
  tracker_request: facts(
    'issue',
    false,
    'The tracker could not be reached',
    'Check the network and the endpoint; Baton tries again.',
  ),
  tracker_status: facts(
    'issue',
    false,
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
    'The response of the tracker could not be read',
    'Check the endpoint and the adapter.',
  ),
  tracker_pagination: facts(
    'issue',
    false,
    'The pages of the tracker are inconsistent',
    'Baton reads them again at the next poll.',
  ),
  tracker_refused: facts(
    'issue',
    false,
    'The tracker rejected the change of the issue',
    'See the message. The agent gets the error, and the run goes on.',
  ),
  tracker_rate_limited: facts(
    'issue',
    false,
    'The rate limit of the tracker is reached',
    'Nothing: Baton waits for the reset, and this does not count as a failure.',
  ),

  // Workspace
  invalid_workspace_root: facts(
    'daemon',
    false,
    'workspace.root cannot be used',
    'Choose a folder that only this user can write.',
  ),
  unsafe_identifier: facts(
    'park',
    false,
    'The identifier cannot name a workspace',
    'Rename the issue in the tracker, then retry it.',
  ),
  workspace_not_a_directory: facts(
    'issue',
    false,
    'A file or symlink is where the workspace should be',
    'Move it away. Baton never deletes it.',
  ),
  workspace_owned_by_another: facts(
    'issue',
    false,
    'Every folder name that the issue can have belongs to another issue',
    'Rename one of the issues, or remove the folder.',
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
    'Find out what replaces folders below workspace.root.',
  ),
  git_refused: facts('issue', false, 'Git on a workspace was refused or failed', 'Do what the message says.'),
  workspace_failed: facts(
    'issue',
    false,
    'The workspace could not be created or removed',
    'See the cause in the message.',
  ),
  recover_failed: facts(
    'none',
    false,
    'Saved work could not be restored',
    'See the message; `baton recover --list` shows what there is.',
  ),
  service_failed: facts(
    'none',
    false,
    'The service could not be installed, removed or queried',
    'See the message; `baton service install --dry-run` shows what would be done.',
  ),
  outdated_service: facts(
    'daemon',
    false,
    'The systemd unit of the daemon was written by an older version and cannot notify systemd',
    'Run `baton service install` again.',
  ),
  daemon_not_running: facts(
    'none',
    false,
    'No running daemon was found',
    'Start the daemon, or name its workflow or state directory.',
  ),
  low_disk: facts(
    'daemon',
    false,
    'The disk of the workspaces is nearly full',
    'Free space, or lower workspace.min_free_mb.',
  ),

  issue_taken: facts(
    'issue',
    false,
    'Another daemon works on the issue, or its lock cannot be read',
    'Give each daemon its own label, and no issue both labels.',
  ),

  // HTTP
  port_in_use: facts(
    'daemon',
    false,
    'A port to listen on is in use',
    'Set another port with `--port`, server.port or webhooks.port; 0 means any free port.',
  ),
} as const satisfies Record<string, ErrorFacts>;

/** What can go wrong with a run, and how we end runs ourselves. */
export const RUN_ERRORS = {
  // Hooks, prompt, environment
  hook_failed: facts(
    'issue',
    false,
    'A hook exited with an error',
    'Read the output of the hook in the log; run it by hand in the workspace.',
  ),
  hook_timeout: facts(
    'issue',
    false,
    'A hook took longer than hooks.timeout_ms',
    'Make the hook faster, or raise hooks.timeout_ms.',
  ),
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
    'The rendered prompt exceeds its size limit',
    'Shorten the template or the issue.',
  ),
  invalid_environment: facts(
    'issue',
    false,
    'The environment of a process is invalid',
    'Remove NUL bytes and values of over 100 kB.',
  ),

  // Processes
  spawn_failed: facts('issue', false, 'A process could not be started', 'See the cause in the message.'),
  isolation_unavailable: facts(
    'daemon',
    false,
    'runtime.isolation: pidns is set, but namespaces do not work here',
    'Allow user namespaces, or set runtime.isolation to auto.',
  ),
  isolation_failed: facts(
    'daemon',
    false,
    'Namespaces work on this machine, but cannot be made now',
    'End the programs that use them up, or restart the machine. To go on without: `isolation: none` under `runtime`.',
  ),
  isolation_needed: facts(
    'daemon',
    false,
    'Namespaces do not work here, so agents could read secrets of the daemon',
    'Make namespaces work, or write `isolation: none` under `runtime` to accept it.',
  ),
  unkillable: facts(
    'park',
    false,
    'A process of the run outlives SIGKILL',
    'Look for a hung disk or device. The slot is free when the process has ended.',
  ),

  memory_exceeded: facts(
    'issue',
    false,
    'The run failed after it had used all of its memory',
    'Raise runtime.max_memory_mb, or make the work need less.',
  ),
  processes_exceeded: facts(
    'issue',
    false,
    'The run failed after it had started all of its processes',
    'Raise runtime.max_processes, or make the work start fewer.',
  ),
  workspace_too_large: facts(
    'park',
    false,
    'The workspace of the run takes more disk space than workspace.max_mb',
    'Clean it up and retry the issue, or raise workspace.max_mb.',
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
    'The agent did not start in its workspace',
    'Report this: it should not happen.',
  ),
  response_timeout: facts(
    'issue',
    false,
    'The agent did not answer a request within codex.read_timeout_ms',
    'Raise the limit on a slow machine.',
  ),
  turn_timeout: facts(
    'issue',
    false,
    'An agent was silent for codex.turn_timeout_ms, or its turn took longer than codex.max_turn_ms',
    'Split the issue or raise the limit.',
  ),
  agent_profile_unsupported: facts(
    'daemon',
    false,
    'Codex does not know permission profiles, so it cannot restrict what the agent reads',
    'Update Codex (0.138 or later), or set codex.thread_sandbox: workspace-write: the agent can read all your files then.',
  ),
  agent_sandbox_mismatch: facts(
    'daemon',
    false,
    'Codex reports a looser sandbox or approval policy than Baton asked for',
    'Look for requirements.toml of an administrator and for arguments in codex.command; codex.thread_sandbox accepts another sandbox.',
  ),
  agent_skill_link: facts(
    'park',
    false,
    'A link would make Codex read skills from outside of the workspace, or skills that the agent can replace',
    'Replace the named link in the repository, then retry the issue.',
  ),
  agent_socket_folder: facts(
    'daemon',
    false,
    'A folder that Codex needs belongs to another account, so no command of Codex would work',
    'Remove the named folder; only root or its owner can.',
  ),
  port_exit: facts('issue', false, 'The agent process ended during a turn', 'Read its stderr in the transcript.'),
  response_error: facts('issue', false, 'The agent answered a request with an error', 'See the message.'),
  turn_failed: facts('issue', false, 'The agent reports that its turn failed', 'See the message.'),
  turn_cancelled: facts('issue', false, 'The turn was interrupted', 'Nothing: Baton tries again.'),
  push_declined: facts(
    'park',
    false,
    'A person declined the push of the work',
    'Tell the agent in the issue what to change, or retry.',
  ),
  turn_input_required: facts(
    'park',
    false,
    'The agent needs an answer from a person',
    'Answer with `baton answer <issue>`; the run continues.',
  ),
  line_too_long: facts(
    'issue',
    false,
    'The agent sent a line of over 10 MB',
    'Keep the agent from printing whole files.',
  ),
  stall_timeout: facts(
    'issue',
    false,
    'The agent made no progress for codex.stall_timeout_ms',
    'Raise the limit if the agent works for long without output.',
  ),
  agent_unauthorized: facts('daemon', false, 'The model service refused the credentials (401 or 403)', 'Log in again.'),
  agent_quota: facts(
    'daemon',
    false,
    'The quota or rate limit of the model service is exhausted',
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
    false,
    'The model service cannot be reached',
    'Check network and proxy; Baton probes again.',
  ),

  // We ended it ourselves
  CANCELLED_BY_ORCHESTRATOR: facts('none', false, 'The run was ended because its issue moved', 'Nothing.'),
  INTERRUPTED: facts('none', false, 'The run was interrupted by a shutdown', 'Nothing: it goes on after the restart.'),
  STOPPED_BY_OPERATOR: facts(
    'park',
    false,
    'An operator stopped the run',
    'Start it again with `baton retry <issue>`.',
  ),
  budget_exceeded: facts(
    'park',
    false,
    'The token budget is spent',
    'Raise agent.max_tokens_per_issue or agent.max_tokens_per_day; `baton retry <issue>` grants one issue a new budget.',
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

/**
 * What steps and their executors can end with. Codes in capitals and in CamelCase are those of the protocols that they belong to.
 * `retryable` is the step loop (`retry:` of a step), the scope is the attempt loop.
 */
export const STEP_ERRORS = {
  // The plan
  step_data_error: facts(
    'issue',
    false,
    'A `${…}` of a step refers to missing data',
    'Fix the token in the named step.',
  ),
  expression_error: facts(
    'issue',
    false,
    'The result of a `when` or `break_when` is not true or false',
    'Fix the expression of the named step.',
  ),
  loop_too_long: facts(
    'issue',
    false,
    'A loop has more items than max_iterations',
    'Raise max_iterations, or give it fewer items.',
  ),
  JobValidation: facts(
    'daemon',
    false,
    'A step is invalid',
    'Fix the named step. `baton check` lists all such faults.',
  ),
  UnwiredHttpTransport: facts(
    'daemon',
    false,
    'An agent step runs over HTTP, but no service is configured',
    'Set services.agents.base_url and `agent` of the step, or backend: cli.',
  ),
  invalid_backend: facts(
    'daemon',
    false,
    'The backend is not http, cli or auto',
    'Fix the named flag, variable or setting.',
  ),

  // External executors
  AGENT_INVOCATION_FAILED: facts(
    'issue',
    false,
    'An external executor could not be started, did not read its input or exited with an error',
    'Read its stderr in the transcript; try it with `baton executor test`.',
  ),
  AGENT_TIMEOUT: facts(
    'issue',
    true,
    'An external executor took longer than its time limit',
    'Raise timeout_s of the step or timeout_seconds of the executor.',
  ),
  AGENT_CANCELLED: facts(
    'issue',
    false,
    'An external executor was killed by another process',
    'Find out what sends signals; the memory may be too small.',
  ),

  // Capability executors
  EXECUTOR_NOT_FOUND: facts(
    'daemon',
    false,
    'No executor has this name, or supports this type of capability',
    'Add it, or fix the name; `baton executor list` shows external executors, `baton capability list` those of capabilities.',
  ),
  CAPABILITY_NOT_FOUND: facts(
    'daemon',
    false,
    'No capability has this type and name',
    'Add it, or fix the name; `baton capability list` shows what there is.',
  ),
  ACTION_BLOCK_NOT_FOUND: facts(
    'issue',
    false,
    'The entry point of an executor is missing',
    'Build the executor, or fix entryPoint.',
  ),
  INVALID_ACTION_BLOCK: facts(
    'daemon',
    false,
    'The definition of an executor is invalid',
    'Fix the named executor.yaml.',
  ),
  SYNTAX_ERROR: facts('issue', false, 'The code of an executor is not valid JavaScript', 'Fix the named file.'),
  CONNECTION_FAILED: facts(
    'issue',
    true,
    'An executor did not connect, or answered no ping, within capabilities.connect_timeout_ms',
    'Read its output in the transcript; it must call onActionBlockInvocation when it starts.',
  ),
  EXECUTION_TIMEOUT: facts(
    'issue',
    true,
    'A capability took longer than its time limit',
    'Raise timeout_s of the step.',
  ),
  PROCESS_CRASHED: facts('issue', false, 'An executor ended before it answered', 'Read its output in the transcript.'),
  CAPABILITY_FAILED: facts('issue', false, 'A capability reports an error', 'See the message.'),
  INVALID_REQUEST: facts(
    'issue',
    false,
    'A capability was called with wrong parameters',
    'Fix `params` of the step; capability.yaml lists the inputs.',
  ),

  // HTTP kinds
  SERVICE_UNAVAILABLE: facts(
    'issue',
    true,
    'A service could not be reached or answered with 5xx',
    'Check the service; give the step a `retry`.',
  ),
  SERVICE_TIMEOUT: facts('issue', true, 'A service did not answer in time', 'Raise timeout_s of the step or service.'),
  SERVICE_REJECTED: facts(
    'issue',
    false,
    'A service rejected a request, or its response is invalid',
    'See the message; check token, tenant and the step.',
  ),
  CODE_FAILED: facts('issue', false, 'Code in the sandbox failed', 'See its stderr in the message.'),
} as const satisfies Record<string, ErrorFacts>;

/** Every error code. A test compares docs/errors.md with this table. */
export const ERRORS = { ...SETUP_ERRORS, ...RUN_ERRORS, ...STEP_ERRORS };

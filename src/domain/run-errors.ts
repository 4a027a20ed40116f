import { type ErrorFacts, facts } from './error-facts.js';

/** What can go wrong with a run, and how we end runs ourselves. */
export const RUN_ERRORS = {
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
  spawn_failed: facts('issue', false, 'A process could not be started', 'See the cause in the message.'),
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
    false,
    'The agent did not answer a request within codex.read_timeout_ms',
    'Raise it on a slow machine.',
  ),
  turn_timeout: facts(
    'issue',
    false,
    'A turn took longer than codex.turn_timeout_ms',
    'Split the issue or raise the limit.',
  ),
  port_exit: facts(
    'issue',
    false,
    'The agent process ended in the middle of its work',
    'Read its stderr in the transcript.',
  ),
  response_error: facts('issue', false, 'The agent answered a request with an error', 'See the message.'),
  turn_failed: facts('issue', false, 'The agent reports that its turn failed', 'See the message.'),
  turn_cancelled: facts('issue', false, 'The turn was interrupted', 'Nothing: Baton tries again.'),
  turn_input_required: facts(
    'park',
    false,
    'The agent needs an answer from a person',
    'Answer with `baton answer <issue>`: it goes on where it was.',
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

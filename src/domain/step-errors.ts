import { type ErrorFacts, facts } from './error-facts.js';

/**
 * What steps and their executors can end with. Codes in capitals and in CamelCase are those of the protocols that they belong to.
 * `retryable` is the step loop (`retry:` of a step), the scope is the attempt loop.
 */
export const STEP_ERRORS = {
  // The plan
  step_data_error: facts(
    'issue',
    false,
    'A `${…}` of a step names something that is not there',
    'Fix the token in the named step.',
  ),
  expression_error: facts(
    'issue',
    false,
    'A `when` or `break_when` is neither true nor false',
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
    'A step cannot be run as it is written',
    'Fix the named step; `baton check` finds all such faults.',
  ),
  UnwiredHttpTransport: facts(
    'daemon',
    false,
    'An agent step is to run over HTTP, and nothing is there to send it to',
    'Set services.agents.base_url and `agent` of the step, or backend: cli.',
  ),
  invalid_backend: facts(
    'daemon',
    false,
    'The backend is none of http, cli, auto',
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
    'Somebody else killed an external executor',
    'Look for who sends signals, or for too little memory.',
  ),

  // Capability executors
  EXECUTOR_NOT_FOUND: facts(
    'daemon',
    false,
    'There is no executor of that name or for that type of capability',
    'Add it, or fix the name; `baton capability list` shows what there is.',
  ),
  CAPABILITY_NOT_FOUND: facts(
    'daemon',
    false,
    'There is no capability of that type and name',
    'Add it, or fix the name; `baton capability list` shows what there is.',
  ),
  ACTION_BLOCK_NOT_FOUND: facts(
    'issue',
    false,
    'The entry point of an executor is not there',
    'Build the executor, or fix entryPoint.',
  ),
  INVALID_ACTION_BLOCK: facts(
    'issue',
    false,
    'The definition of an executor cannot be used',
    'Fix the named executor.yaml.',
  ),
  SYNTAX_ERROR: facts('issue', false, 'The code of an executor is not valid JavaScript', 'Fix the named file.'),
  CONNECTION_FAILED: facts(
    'issue',
    true,
    'An executor did not connect within capabilities.connect_timeout_ms',
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
    'A service refused a request or answered with something unusable',
    'See the message; check token, tenant and the step.',
  ),
  CODE_FAILED: facts('issue', false, 'Code in the sandbox failed', 'See its stderr in the message.'),
} as const satisfies Record<string, ErrorFacts>;

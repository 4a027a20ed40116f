import { type ErrorFacts, facts } from './error-facts.js';

/** What can be wrong before a run: the workflow file, the tracker, the place for workspaces. */
export const SETUP_ERRORS = {
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

  // One instance
  already_running: facts(
    'daemon',
    false,
    'Another Baton works on the same workspaces or issues',
    'Stop the named one, or give this one other workspaces and issues.',
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
    'The tracker answered with something unreadable',
    'Check endpoint and adapter.',
  ),
  tracker_pagination: facts(
    'issue',
    false,
    'The pages of the tracker do not fit together',
    'Baton reads them again at the next poll.',
  ),
  tracker_refused: facts(
    'issue',
    false,
    'The tracker would not change the issue',
    'See the message; the agent is told, and the run goes on.',
  ),
  tracker_rate_limited: facts(
    'issue',
    false,
    'The tracker limits our requests',
    'Nothing: Baton waits for the named reset, and counts no failure.',
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
  workspace_failed: facts(
    'issue',
    false,
    'The workspace could not be made or removed',
    'See the cause in the message.',
  ),
  recover_failed: facts(
    'none',
    false,
    'Saved work could not be brought back',
    'See the message; `baton recover --list` shows what there is.',
  ),
  service_failed: facts(
    'none',
    false,
    'The service could not be installed, removed or asked',
    'See the message; `baton service install --dry-run` shows what would be done.',
  ),
  daemon_not_running: facts(
    'none',
    false,
    'No running Baton could be asked',
    'Start it, or name its workflow or state directory.',
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
    'Another Baton works on the issue right now, or it cannot be told',
    'Give the daemons labels of which no issue has both.',
  ),

  // HTTP
  port_in_use: facts(
    'daemon',
    false,
    'A port to listen on is taken',
    'Give another with `--port`, server.port or webhooks.port; 0 takes any free one.',
  ),
} as const satisfies Record<string, ErrorFacts>;

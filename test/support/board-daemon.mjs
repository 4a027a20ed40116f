// The compiled daemon in its own process, on a board in a JSON file: { "<id>": { identifier, title, state } }.
//   node board-daemon.mjs <folder of dist> <WORKFLOW.md> <state dir> <board.json>
// Prints one JSON line per log record on stdout, and `{"runs": n}` whenever the number of active turns changes.
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist, workflowPath, stateDirPath, board] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(dist, name)).href);
const { startDaemon } = await load('src/daemon/daemon.js');
const { loadWorkflow } = await load('src/workflow/load-workflow.js');
const { openStateDir } = await load('src/state-dir.js');
const { createLogger } = await load('src/logging/logger.js');
const { createRedactor } = await load('src/logging/redact.js');
const { createTrackerRegistry } = await load('src/tracker/registry.js');
const { normaliseIssue } = await load('src/tracker/normalise-issue.js');

const defaults = { activeStates: ['Todo'], terminalStates: ['Done'] };
const issues = () =>
  Object.entries(JSON.parse(readFileSync(board, 'utf8'))).map(([id, raw]) => normaliseIssue({ id, ...raw }));
const tracker = {
  kind: 'board',
  scope: `board:${board}`,
  defaults,
  issuesByStates: async (states) => ({ issues: issues().filter((issue) => states.includes(issue.state)), unknown: [] }),
  issuesByIds: async (ids) => ({ issues: issues().filter((issue) => ids.includes(issue.id)), unknown: [] }),
  states: ['Todo', 'Done'],
  update: async () => {
    throw new Error('nobody moves issues on this board but the test');
  },
  tools: () => [],
  close: async () => {},
};
const env = { ...process.env };
const homeDir = homedir();
const trackers = createTrackerRegistry([{ kind: 'board', defaults, create: () => tracker }]);
const loaded = await loadWorkflow(workflowPath, { env, homeDir, trackerKinds: new Map([['board', defaults]]) });
const redactor = createRedactor();
const log = createLogger({ level: 'info', redactor, stream: 'stdout', pretty: false });
let turns = 0;
const daemon = await startDaemon({
  loaded,
  stateDir: await openStateDir(stateDirPath),
  lockDir: `${stateDirPath}-locks`,
  trackers,
  log,
  redactor,
  env,
  homeDir,
  version: '0.0.0-test',
  onDecided: (_, state) => {
    const busy = Object.values(state.claims).filter((claim) => claim.live.run?.openItems).length;
    if (busy !== turns) process.stdout.write(`${JSON.stringify({ turns: busy })}\n`);
    turns = busy;
  },
});
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => daemon.dispatch({ type: 'shutdown_requested' }));
process.exit(await daemon.exited);

// The common part of the fake agents: an app-server that greets, opens threads and completes every turn, until a script changes that.
// Every message it gets is written to received.jsonl in its working directory.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export const THREAD = 'thread-1';

export function serve(overrides = {}) {
  const handlers = { ...DEFAULTS, ...overrides };
  const waiting = new Map();
  let turns = 0;
  let nextId = 0;

  const agent = {
    turnId: null,
    send: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
    reply: (message, result) => agent.send({ id: message.id, result }),
    refuse: (message, error) => agent.send({ id: message.id, error: { code: -32600, message: error } }),
    notify: (method, params) => agent.send({ method, params: { threadId: THREAD, turnId: agent.turnId, ...params } }),
    // Ids start at 0, as with the real one.
    ask: (method, params) => {
      const id = nextId++;
      agent.send({ id, method, params: { threadId: THREAD, turnId: agent.turnId, ...params } });
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    item: (when, item) => agent.notify(`item/${when}`, { item }),
    say: (text) => agent.item('completed', { type: 'agentMessage', id: `message-${turns}`, text }),
    beginTurn: (message) => {
      turns += 1;
      agent.turnId = `turn-${turns}`;
      agent.reply(message, { turn: { id: agent.turnId, status: 'inProgress', items: [], error: null } });
      agent.notify('turn/started', { turn: { id: agent.turnId } });
    },
    endTurn: (status = 'completed', error = null) => {
      agent.notify('turn/completed', { turn: { id: agent.turnId, status, items: [], error } });
    },
    get turns() {
      return turns;
    },
  };

  createInterface({ input: process.stdin }).on('line', (line) => {
    appendFileSync('received.jsonl', `${line}\n`);
    const message = JSON.parse(line);
    if (message.method === undefined) waiting.get(message.id)?.(message.result ?? message);
    else handlers[message.method]?.(agent, message);
  });
  return agent;
}

/** The reply of Codex when it grants what was asked for. */
export function grantedThread({ params }) {
  return {
    thread: { id: THREAD },
    cwd: process.cwd(),
    approvalPolicy: params.approvalPolicy,
    approvalsReviewer: 'user',
    sandbox: { type: SANDBOXES[params.sandbox] ?? 'workspaceWrite', networkAccess: false },
    activePermissionProfile: params.permissions === undefined ? null : { id: params.permissions, extends: null },
  };
}

const SANDBOXES = { 'read-only': 'readOnly', 'danger-full-access': 'dangerFullAccess' };

const DEFAULTS = {
  initialize: (agent, message) => agent.reply(message, { userAgent: 'fake' }),
  'thread/start': (agent, message) => agent.reply(message, grantedThread(message)),
  'thread/resume': (agent, message) => agent.reply(message, grantedThread(message)),
  'thread/name/set': (agent, message) => agent.reply(message, {}),
  'turn/interrupt': (agent, message) => agent.reply(message, {}),
  'turn/steer': (agent, message) => agent.reply(message, { turnId: agent.turnId }),
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    agent.say(`done ${agent.turns}`);
    agent.endTurn();
  },
};

// The agent of the soak. Its first run does what the title of the issue says, which after_create wrote to the file `kind`;
// on later runs, which it knows by the lines that before_run wrote to `runs`, it does its work and moves the issue to Done.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { serve } from '../support/agents/app-server.mjs';

const kind = readFileSync('kind', 'utf8').trim();
const isFirstRun = readFileSync('runs', 'utf8').trim().split('\n').length === 1;

const FIRST_RUNS = {
  fails: (agent) => agent.endTurn('failed', { message: 'cannot do it the first time' }),
  dies: () => process.stderr.write('out of cheese\n', () => process.exit(3)),
  stalls: () => {},
  // Until another user moves the issue. The open item prevents a stall.
  waits: (agent) => agent.item('started', { type: 'commandExecution', id: 'busy', command: 'sleep' }),
  inquires: async (agent) => {
    const questions = [{ id: 'c', header: 'Colour', question: 'Which colour?', options: [] }];
    await agent.ask('item/tool/requestUserInput', { isBlocking: true, questions });
    await finish(agent);
  },
};

const WORK = {
  asks: async (agent) => {
    await agent.ask('item/commandExecution/requestApproval', { itemId: 'i', command: 'make install', cwd: '.' });
    await finish(agent);
  },
  // One turn is not enough, so a continuation follows.
  continues: async (agent) => (agent.turns === 1 ? agent.endTurn() : finish(agent)),
  floods: async (agent) => {
    const block = line('item/agentMessage/delta', { turnId: agent.turnId, delta: 'x'.repeat(200) }).repeat(100);
    for (let i = 0; i < 40; i++) if (!process.stdout.write(block)) await once(process.stdout, 'drain');
    await finish(agent);
  },
  babbles: async (agent) => {
    process.stdout.write('not json\n{"half": \n[]\n');
    for (let i = 0; i < 200; i++) process.stderr.write(`warning ${i}: ${'w'.repeat(100)}\n`);
    await agent.ask('item/tool/call', { callId: 'c', namespace: null, tool: 'no_such_tool', arguments: {} });
    await finish(agent);
  },
  orphans: async (agent) => {
    for (const stdio of ['inherit', 'ignore']) spawn('sleep', ['600'], { detached: true, stdio }).unref();
    await finish(agent);
  },
};

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    const act = (isFirstRun && FIRST_RUNS[kind]) || WORK[kind] || finish;
    await act(agent);
  },
});

async function finish(agent) {
  const total = { inputTokens: 100 * agent.turns, cachedInputTokens: 0, outputTokens: 10 * agent.turns };
  agent.notify('thread/tokenUsage/updated', { tokenUsage: { total, last: total } });
  const update = { state: 'Done', comment: 'Done as asked.' };
  await agent.ask('item/tool/call', { callId: 'c', namespace: null, tool: 'update_issue', arguments: update });
  agent.say('moved it');
  agent.endTurn();
}

function line(method, params) {
  return `${JSON.stringify({ method, params })}\n`;
}

// Leaves a file in the workspace, moves its issue to the state in argv with its tool, and ends the turn.
import { appendFileSync } from 'node:fs';
import { serve } from './app-server.mjs';

const [state = 'Done'] = process.argv.slice(2);

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    appendFileSync('work.txt', `${message.params.input[0].text}\n`);
    const total = { inputTokens: 100 * agent.turns, cachedInputTokens: 0, outputTokens: 10 * agent.turns };
    agent.notify('thread/tokenUsage/updated', { tokenUsage: { total, last: total } });
    const call = { callId: 'c', namespace: null, tool: 'update_issue', arguments: { state } };
    await agent.ask('item/tool/call', call);
    agent.say('moved it');
    agent.endTurn();
  },
});

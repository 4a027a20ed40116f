// Keeps its environment, calls the tools that argv names as JSON, one after the other, and ends the turn.
import { writeFileSync } from 'node:fs';
import { serve } from './app-server.mjs';

const calls = process.argv.slice(2).map((word) => JSON.parse(word));
writeFileSync('env.seen', JSON.stringify(process.env));

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    for (const [n, { tool, arguments: input }] of calls.entries()) {
      await agent.ask('item/tool/call', { callId: `c${n}`, namespace: null, tool, arguments: input });
    }
    agent.say('called them all');
    agent.endTurn();
  },
});

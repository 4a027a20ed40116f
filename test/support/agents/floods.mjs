// Sends short notifications at full speed for ever, within a turn.
import { once } from 'node:events';
import { serve } from './app-server.mjs';

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    const line = `${JSON.stringify({ method: 'item/agentMessage/delta', params: { turnId: agent.turnId, delta: 'x' } })}\n`;
    const block = line.repeat(500);
    for (;;) if (!process.stdout.write(block)) await once(process.stdout, 'drain');
  },
});

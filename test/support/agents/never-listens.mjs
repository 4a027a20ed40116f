// Requests permissions at full speed and never reads the answers, which repeat the request.
import { once } from 'node:events';
import { serve } from './app-server.mjs';

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    process.stdin.pause();
    const params = { permissions: { fileSystem: 'x'.repeat(100_000) } };
    for (let id = 0; ; id++) {
      const line = JSON.stringify({ id, method: 'item/permissions/requestApproval', params });
      if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
    }
  },
});

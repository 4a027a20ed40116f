// Ends its turn with a status and an error (argv, JSON); may announce rate limits first.
import { serve } from './app-server.mjs';

const [status, error = 'null', rateLimits] = process.argv.slice(2);

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    if (rateLimits) agent.notify('account/rateLimits/updated', { rateLimits: JSON.parse(rateLimits) });
    agent.endTurn(status, JSON.parse(error));
  },
});

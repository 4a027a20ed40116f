// Prints lines that are no protocol, many of them, then completes its turn.
import { serve } from './app-server.mjs';

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    process.stdout.write('what?\n'.repeat(1_000), () => agent.endTurn());
  },
});

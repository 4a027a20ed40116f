// Answers the named method (argv) with an error; `later`: only from the second turn on.
import { serve } from './app-server.mjs';

const [method, when] = process.argv.slice(2);

serve({
  [method]: (agent, message) => {
    if (when !== 'later' || agent.turns > 0) {
      agent.refuse(message, 'no such luck');
      return;
    }
    agent.beginTurn(message);
    agent.endTurn();
  },
});

// Its first turn ends when it is steered, and rejects the steering.
import { serve } from './app-server.mjs';

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    if (agent.turns > 1) agent.endTurn();
  },
  'turn/steer': (agent, message) => {
    agent.refuse(message, 'this turn cannot be steered');
    agent.endTurn();
  },
});

// Completes every turn and counts its tokens, twice.
import { serve } from './app-server.mjs';

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    const total = {
      inputTokens: 100 * agent.turns,
      cachedInputTokens: 10 * agent.turns,
      outputTokens: 5 * agent.turns,
    };
    for (let i = 0; i < 2; i++) agent.notify('thread/tokenUsage/updated', { tokenUsage: { total, last: total } });
    agent.say(`done ${agent.turns}`);
    agent.endTurn();
  },
});

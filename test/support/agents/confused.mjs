// Ends other turns, turns of other threads, and its own turn before announcing it.
import { serve, THREAD } from './app-server.mjs';

serve({
  'turn/start': (agent, message) => {
    const failed = { status: 'failed', items: [], error: { message: 'not yours' } };
    const end = (threadId, id, turn) => agent.notify('turn/completed', { threadId, turn: { id, ...turn } });
    end(THREAD, 'turn-0', failed);
    end('thread-of-a-helper', 'turn-1', failed);
    agent.notify('item/completed', {
      threadId: 'thread-of-a-helper',
      item: { type: 'agentMessage', id: 'h', text: 'not yours' },
    });
    end(THREAD, 'turn-1', { status: 'completed', items: [], error: null });
    agent.beginTurn(message);
  },
});

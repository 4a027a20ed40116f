// Sends one line of argv[2] bytes and completes the turn; `endless` never sends the newline.
import { once } from 'node:events';
import { serve, THREAD } from './app-server.mjs';

const wanted = process.argv[2];

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    if (wanted === 'endless') {
      const block = Buffer.alloc(64 * 1024, 0x61);
      for (;;) if (!process.stdout.write(block)) await once(process.stdout, 'drain');
    }
    const shell = {
      method: 'item/completed',
      params: { threadId: THREAD, item: { type: 'agentMessage', id: 'm', text: '' } },
    };
    shell.params.item.text = 'x'.repeat(Number(wanted) - JSON.stringify(shell).length);
    agent.send(shell);
    agent.endTurn();
  },
});

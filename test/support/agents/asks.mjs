// Sends one request (argv: method, params as JSON) in its turn, reports the answer, and completes.
// Third argument: `withdraw` withdraws the request, `end-turn` ends the turn without an answer, `with-item` announces a file change first.
import { serve } from './app-server.mjs';

const [method, params, option] = process.argv.slice(2);

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    if (option === 'with-item') {
      const changes = [{ path: 'src/a.txt', kind: { type: 'add' }, diff: '+hello' }];
      agent.item('started', { type: 'fileChange', id: 'item-1', changes, status: 'inProgress' });
    }
    const reply = agent.ask(method, JSON.parse(params));
    if (option === 'end-turn') {
      agent.endTurn();
      return;
    }
    if (option === 'withdraw') agent.notify('serverRequest/resolved', { requestId: 0 });
    agent.say(JSON.stringify(await reply));
    agent.endTurn();
  },
});

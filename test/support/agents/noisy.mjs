// Everything that is not protocol, around a good turn: garbage, blank lines, CRLF, cut characters, strays, deep nesting, `__proto__`.
import { serve, THREAD } from './app-server.mjs';

const raw = (bytes) => new Promise((resolve) => process.stdout.write(bytes, resolve));
const next = () => new Promise((resolve) => setImmediate(resolve));

serve({
  'turn/start': async (agent, message) => {
    process.stderr.write('{"method":"turn/completed"}\n');
    await raw('this is not JSON\n\n  \r\n[1,2]\n{"neither":true}\n{"id":{},"method":"x"}\n');
    await raw(Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]));
    await raw(`{"method":"x/y","params":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}\n`);
    await raw(
      '{"method":"x/y","params":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}\n',
    );
    await raw('{"method":"$/cancelRequest"}\n{"method":"$/setTrace","params":5}\n');
    agent.reply({ id: 4711 }, {});
    agent.beginTurn(message);
    for (const text of ['one', 'two', 'one']) agent.notify('warning', { message: text });
    agent.reply(message, { turn: { id: 'turn-again' } });
    const said = {
      method: 'item/completed',
      params: { threadId: THREAD, item: { type: 'agentMessage', id: 'm', text: 'grüße 👋' } },
    };
    for (const byte of Buffer.from(`${JSON.stringify(said)}\r\n`)) {
      await raw(Buffer.from([byte]));
      await next();
    }
    agent.endTurn();
  },
});

// Sends invalid token counts, then valid ones.
import { serve, THREAD } from './app-server.mjs';

const line = (total) =>
  `{"method":"thread/tokenUsage/updated","params":{"threadId":"${THREAD}","tokenUsage":{"total":${total}}}}\n`;

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    process.stdout.write(line('{"inputTokens":50,"cachedInputTokens":5,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":-1,"cachedInputTokens":0,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":40,"cachedInputTokens":5,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":1e999,"cachedInputTokens":5,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":60.5,"cachedInputTokens":5,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":9007199254740993,"cachedInputTokens":5,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":"70","cachedInputTokens":5,"outputTokens":7}'));
    process.stdout.write(line('{"inputTokens":80,"cachedInputTokens":8,"outputTokens":9}'));
    agent.endTurn();
  },
});

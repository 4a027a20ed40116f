// Follows workflows for OpenAI's Symphony: finds the states of its issue's team with linear_graphql, moves it to the next of the
// states in argv and comments, once a turn. The result of each turn is appended to ../../turns.jsonl.
import { appendFileSync } from 'node:fs';
import { serve } from './app-server.mjs';

const STATES = 'query($id: String!) { issue(id: $id) { id team { states { nodes { id name } } } } }';
const MOVE =
  'mutation($id: String!, $stateId: String!) { issueUpdate(id: $id, input: { stateId: $stateId }) { success } }';
const SAY =
  'mutation($id: String!, $body: String!) { commentCreate(input: { issueId: $id, body: $body }) { success } }';

const states = process.argv.slice(2);
let identifier = null;

serve({
  'turn/start': async (agent, message) => {
    agent.beginTurn(message);
    const prompt = message.params.input[0].text;
    identifier ??= /[A-Z]+-\d+/.exec(prompt)[0];
    const ask = async (query, variables) => {
      const call = {
        callId: `c${agent.turns}`,
        namespace: null,
        tool: 'linear_graphql',
        arguments: { query, variables },
      };
      const { success, contentItems } = await agent.ask('item/tool/call', call);
      return { success, ...JSON.parse(contentItems[0].text) };
    };
    const { issue } = (await ask(STATES, { id: identifier })).data;
    const state = states[agent.turns - 1];
    const said = await ask(SAY, { id: issue.id, body: `Working towards ${state}.` });
    const { id: stateId } = issue.team.states.nodes.find(({ name }) => name === state);
    const moved = await ask(MOVE, { id: issue.id, stateId });
    appendFileSync('../../turns.jsonl', `${JSON.stringify({ prompt, said: said.success, moved: moved.success })}\n`);
    agent.endTurn();
  },
});

// Tells what it was given in every way there is: as an error, on stderr, as garbage.
import { fail, onRequest, write } from './lines.mjs';

const { TOKEN = '', HIDDEN = '(none)' } = process.env;
onRequest(({ id, method }) => {
  process.stderr.write(`token ${TOKEN}\nhidden ${HIDDEN}\n\u001b[2Jlast\n`);
  if (method === 'issues_by_states') fail(id, 'auth', `bad token ${TOKEN}, hidden ${HIDDEN} \u001b[2J`);
  else write(`no JSON: ${TOKEN}\n`, () => process.exit(1));
});

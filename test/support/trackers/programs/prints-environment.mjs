// Tells its folder and its variables as the description of an issue.
import { fail, issue, onRequest, reply } from './lines.mjs';

onRequest(({ id, method }) => {
  const description = JSON.stringify({ cwd: process.cwd(), env: process.env });
  if (method === 'issues_by_states') reply(id, { issues: [issue('1', { description })] });
  else fail(id, 'unsupported', '');
});

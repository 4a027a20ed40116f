// Lives, and looks at nothing. With `answers` it answers question 1 all the same.
import { note, reply } from './lines.mjs';

note('start');
setInterval(() => {}, 1000);
if (process.argv[2] === 'answers') setTimeout(() => reply(1, { issues: [] }), 200);

// Answers the first question of its life only when asked the second one, and then both.
import { answerTo, onQuestion, reply } from './lines.mjs';

let kept = null;
onQuestion((question) => {
  if (kept === null) kept = question;
  else for (const one of [kept, question]) reply(one.id, answerTo(one) ?? {});
});

import { onQuestion, replyAsUsual } from './lines.mjs';

onQuestion((question) => {
  replyAsUsual(question);
  replyAsUsual(question);
});

import { onRequest, replyDefault } from './lines.mjs';

onRequest((request) => {
  replyDefault(request);
  replyDefault(request);
});

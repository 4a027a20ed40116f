// Speaks once more a while after its answer, unasked.
import { onRequest, replyDefault, write } from './lines.mjs';

onRequest((request) => replyDefault(request, () => setTimeout(() => write('by the way\n'), 50)));

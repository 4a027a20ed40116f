// Speaks once more a while after its answer, unasked.
import { onQuestion, replyAsUsual, write } from './lines.mjs';

onQuestion((question) => replyAsUsual(question, () => setTimeout(() => write('by the way\n'), 50)));

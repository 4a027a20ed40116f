// Its answer is whole, but the line has no end.
import { answerTo, onQuestion, write } from './lines.mjs';

onQuestion((question) => write(JSON.stringify({ id: question.id, result: answerTo(question) }), () => process.exit(0)));

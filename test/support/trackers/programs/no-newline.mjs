// Its answer is whole, but the line has no end.
import { answerTo, onRequest, write } from './lines.mjs';

onRequest((request) => write(JSON.stringify({ id: request.id, result: answerTo(request) }), () => process.exit(0)));

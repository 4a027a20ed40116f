// A small executor as it should be: reads everything, understands what it knows, ignores the rest.
import { readFileSync } from 'node:fs';

try {
  const { schemaVersion, activity, input } = JSON.parse(readFileSync(0, 'utf8'));
  if (schemaVersion !== 1) throw new Error(`envelope version ${schemaVersion} is not known`);
  process.stdout.write(`${activity.id}: ${JSON.stringify(input)}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 65;
}

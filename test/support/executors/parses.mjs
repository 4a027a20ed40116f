// A correct small executor: reads everything, uses the known fields, ignores the rest.
import { readFileSync } from 'node:fs';

try {
  const { schemaVersion, activity, input } = JSON.parse(readFileSync(0, 'utf8'));
  if (schemaVersion !== 1) throw new Error(`envelope version ${schemaVersion} is not known`);
  process.stdout.write(`${activity.id}: ${JSON.stringify(input)}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 65;
}

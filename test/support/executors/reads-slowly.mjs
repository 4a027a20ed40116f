// Reads its input in small pieces with a pause after each, and says how much it was and whether it is whole.
let text = '';
for await (const chunk of process.stdin.setEncoding('utf8')) {
  text += chunk;
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const { schemaVersion, input } = JSON.parse(text);
process.stdout.write(`${schemaVersion} ${input.padding.length}\n`);

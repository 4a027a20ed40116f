// Reads its input in small pieces with pauses, and reports its size and whether it is complete.
let text = '';
for await (const chunk of process.stdin.setEncoding('utf8')) {
  text += chunk;
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const { schemaVersion, input } = JSON.parse(text);
process.stdout.write(`${schemaVersion} ${input.padding.length}\n`);

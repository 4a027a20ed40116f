// Runs the script of a skill in the workspace. The script gets its inputs as JSON on stdin and as INPUT_<NAME>; its output is the result.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { access, constants, open, realpath, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, sep } from 'node:path';
import { onActionBlockInvocation } from '../../../client/baton-capability.mjs';

const SCRIPTS = ['run.sh', 'run.mjs', 'run.js', 'run.py', 'run'];
const INTERPRETERS = {
  '.sh': 'bash',
  '.mjs': process.execPath,
  '.js': process.execPath,
  '.cjs': process.execPath,
  '.py': 'python3',
};
const OURS = ['capabilityPath', 'capabilityName', 'capabilityType', 'capabilityConfig', 'executionId'];
/** The connection of the executor to the daemon, which the script does not get. */
const CONNECTION = [
  ...['SOCKET_PORT', 'IS_SIDE_EXECUTION', 'SIDE_EXECUTION_ID', 'THREAD_ID', 'PARENT_AGENT_ID'],
  ...['PARENT_AGENT_INSTANCE_ID', 'ACTION_BLOCK_PATH', 'threadToken', 'BATON_CAPABILITY_CLIENT'],
];
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** The marks of `cutOutput` in the daemon. */
const CUT_STDOUT = { stdout_truncated: true };
const CUT_STDERR = { stderr_truncated: true };
const DRAIN_MS = 1_000;
const MAX_VARIABLE_BYTES = 32 * 1024;
const MAX_ERROR_CHARACTERS = 2_000;

onActionBlockInvocation(async ({ params, projectPath }) => {
  const script = await findScript(params.capabilityPath, params.capabilityConfig?.script);
  const inputs = Object.fromEntries(Object.entries(params).filter(([name]) => !OURS.includes(name)));
  const { code, signal, stdout, stderr } = await run(script, inputs, projectPath);
  if (code !== 0) {
    const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    const why = endOf(stderr);
    throw new Error(`the script of ${params.capabilityName} ${how}${why === '' ? '' : `: ${why}`}`);
  }
  const result = parsed(stdout);
  if (result !== undefined) return result;
  const marks = { ...(stdout.isWhole ? {} : CUT_STDOUT), ...(stderr.isWhole ? {} : CUT_STDERR) };
  return { stdout: stdout.text, stderr: stderr.text, exit_code: code, ...marks };
});

/** Marked where it is cut. Of a stderr that is too large, the end is not kept. */
function endOf({ text, isWhole }) {
  const shown = isWhole ? text.trim() : `${text.trim()} …`;
  return shown.length <= MAX_ERROR_CHARACTERS ? shown : `… ${shown.slice(-MAX_ERROR_CHARACTERS)}`;
}

async function findScript(folder, named) {
  if (named !== undefined && typeof named !== 'string') throw new Error('`script` of capability.yaml must be text');
  const root = await realpath(folder);
  for (const name of named === undefined ? SCRIPTS : [named]) {
    const path = await realpath(join(root, name)).catch(() => null);
    if (path === null) continue;
    if (!path.startsWith(root + sep)) throw new Error(`the script ${name} leads out of ${folder}`);
    if (!(await stat(path)).isFile()) continue;
    if (extname(path) in INTERPRETERS || (await isExecutable(path))) return path;
  }
  const what = named ?? SCRIPTS.join(', ');
  throw new Error(`${folder} has no script that can be run: ${what}`);
}

function isExecutable(path) {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function run(script, inputs, cwd) {
  const interpreter = INTERPRETERS[extname(script)];
  const [file, args] = interpreter === undefined ? [script, []] : [interpreter, [script]];
  const env = { ...process.env, ...variablesOf(inputs) };
  for (const name of CONNECTION) delete env[name];
  const stdin = await unnamedFile(JSON.stringify(inputs));
  try {
    const child = spawn(file, args, { cwd, env, stdio: [stdin.fd, 'pipe', 'pipe'] });
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    const ended = await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ code, signal }));
      // A process that it left behind may hold its output open for ever.
      child.on('exit', (code, signal) => setTimeout(() => resolve({ code, signal }), DRAIN_MS).unref());
    });
    return { ...ended, stdout: stdout(), stderr: stderr() };
  } finally {
    await stdin.close();
  }
}

/** Unlike the socket that Node.js makes for a stdin, a file can be opened as /dev/stdin. */
async function unnamedFile(text) {
  const path = join(tmpdir(), `inputs-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  // At a position, so that the script reads from the start.
  await file.write(text, 0);
  return file;
}

/** Large inputs, and text with NUL bytes, are only on stdin. */
function variablesOf(inputs) {
  const variables = {};
  for (const [name, value] of Object.entries(inputs)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (text.includes('\0') || Buffer.byteLength(text) > MAX_VARIABLE_BYTES) continue;
    variables[`INPUT_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`] = text;
  }
  return variables;
}

function collect(stream) {
  const chunks = [];
  let total = 0;
  stream.on('data', (chunk) => {
    if (total < MAX_OUTPUT_BYTES) chunks.push(chunk);
    total += chunk.length;
  });
  return () => ({
    text: Buffer.concat(chunks).subarray(0, MAX_OUTPUT_BYTES).toString('utf8'),
    isWhole: total <= MAX_OUTPUT_BYTES,
  });
}

function parsed({ text, isWhole }) {
  if (!isWhole) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

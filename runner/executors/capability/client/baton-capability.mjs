// The client for executors: register a handler, and call files, shell and other capabilities of the daemon that started the executor.
//
//   const { codebolt } = await import(process.env.BATON_CAPABILITY_CLIENT);
//   codebolt.onActionBlockInvocation(async (threadContext, metadata) => ({ done: true }));
//
// It connects when the handler is registered, or with the first call. The handler's result (or error) is sent once, and then the
// process exits.
import { WebSocket } from 'ws';

/** The daemon rejects larger messages. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const EXIT_AFTER_MS = 2_000;

const NAMES = [
  'IS_SIDE_EXECUTION',
  'SIDE_EXECUTION_ID',
  'THREAD_ID',
  'PARENT_AGENT_ID',
  'PARENT_AGENT_INSTANCE_ID',
  'threadToken',
];

const waiting = new Map();
let handler = null;
let invocation = null;
let connecting = null;
let lastRequest = 0;

export function onActionBlockInvocation(listener) {
  handler = listener;
  // The daemon notices a failure as a missing connection.
  connect().catch((error) => console.error(`no connection to the daemon: ${error.message}`));
  if (invocation !== null) invoke(invocation);
}

function connect() {
  connecting ??= new Promise((resolve, reject) => {
    const query = new URLSearchParams(NAMES.map((name) => [name, process.env[name] ?? '']));
    const url = `ws://127.0.0.1:${process.env.SOCKET_PORT}/codebolt?${query}`;
    const socket = new WebSocket(url, { maxPayload: 0, perMessageDeflate: false });
    socket.on('open', () => resolve(socket));
    socket.on('message', (data) => receive(JSON.parse(data.toString())));
    socket.on('error', reject);
    socket.on('close', () => {
      for (const { fail } of waiting.values()) fail(new Error('the connection to the daemon is gone'));
      waiting.clear();
    });
  });
  return connecting;
}

function receive(message) {
  if (message.type === 'actionBlockInvocation') {
    if (handler === null) invocation = message;
    else invoke(message);
    return;
  }
  const call = waiting.get(message.requestId);
  waiting.delete(message.requestId);
  call?.settle(message);
}

async function invoke({ threadContext, params, metadata, sideExecutionId }) {
  const listener = handler;
  try {
    const result = await listener({ ...threadContext, params: params ?? threadContext?.params ?? {} }, metadata);
    await complete({ sideExecutionId, result });
  } catch (error) {
    const text = error instanceof Error ? error.message || error.name : String(error);
    await complete({ sideExecutionId, error: text });
  }
}

/** Sends the answer over the socket, or over the IPC channel when the socket is closed. */
async function complete(answer) {
  const text = JSON.stringify({ type: 'actionBlockComplete', ...answer });
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES)
    throw new Error(`the result is larger than ${MAX_MESSAGE_BYTES} bytes`);
  const socket = await connecting?.catch(() => null);
  // The daemon sends SIGTERM as soon as it has the answer. Write the rest of the output first.
  process.once('SIGTERM', () => {});
  const isSent = await new Promise((resolve) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(text, (error) => resolve(!error));
    else resolve(false);
  });
  if (!isSent) await sendByChannel(answer);
  setTimeout(() => process.exit(0), EXIT_AFTER_MS);
  // Output that is still in a pipe would be lost with the process.
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))));
  if (socket?.readyState === WebSocket.OPEN) {
    socket.once('close', () => process.exit(0));
    socket.close();
  } else process.exit(0);
}

function sendByChannel(answer) {
  const type = 'error' in answer ? 'sideExecutionError' : 'sideExecutionComplete';
  return new Promise((resolve) => {
    if (process.connected) process.send({ type, ...answer }, () => resolve());
    else resolve();
  });
}

/** Resolves to the whole answer. */
async function request(type, action, message) {
  const socket = await connect();
  lastRequest += 1;
  const requestId = `request-${lastRequest}`;
  const text = JSON.stringify({ type, action, requestId, message });
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES) throw new Error(`a call may have ${MAX_MESSAGE_BYTES} bytes`);
  return new Promise((settle, fail) => {
    waiting.set(requestId, { settle, fail });
    socket.send(text, (error) => error && fail(error));
  });
}

async function call(type, action, message) {
  const { success, error, code, ...answer } = await request(type, action, message);
  if (success) return answer;
  throw Object.assign(new Error(error ?? `${action} failed`), code === undefined ? {} : { code });
}

/** Returns the end of an execution, also a failed one, instead of throwing. */
async function start(type, action, message) {
  const { type: _, requestId, ...answer } = await request(type, action, message);
  return answer;
}

const fsCall = (action, message) => call('fsEvent', action, message);

/** One entry for each matching line, or for a file of which only the name matches. */
const linesOf = ({ results }) =>
  results.flatMap(({ path, matches }) =>
    matches.length === 0
      ? [{ path, line: null, text: null }]
      : matches.map(({ lineNumber, content }) => ({ path, line: lineNumber, text: content })),
  );

const readManyFiles = async (paths, options) => {
  const { results } = await fsCall('readManyFiles', { ...options, paths });
  return results.map((file) => ({ content: '', ...file, success: file.error === undefined }));
};

export const fs = {
  readFile: async (path) => (await fsCall('readFile', { filePath: path })).content,
  readManyFiles,
  createFile: async (path, content) => void (await fsCall('createFile', { filePath: path, source: content })),
  createFolder: async (path) => void (await fsCall('createFolder', { folderPath: path })),
  updateFile: async (path, content) => void (await fsCall('updateFile', { filePath: path, newContent: content })),
  deleteFile: async (path) => void (await fsCall('deleteFile', { filePath: path })),
  deleteFolder: async (path) => void (await fsCall('deleteFolder', { folderPath: path })),
  listDirectory: async (path, options) => (await fsCall('listDirectory', { ...options, path })).entries,
  searchFiles: async (query, path, options) => linesOf(await fsCall('searchFiles', { ...options, query, path })),
  grepSearch: async (pattern, path, options) => linesOf(await fsCall('grepSearch', { ...options, pattern, path })),
};

const run = async (action, command) => {
  const { exitCode, stdout, stderr, truncated } = await call(action, undefined, command);
  return { exitCode, stdout, stderr, truncated };
};

export const terminal = {
  executeCommand: (command) => run('executeCommand', command),
  executeCommandRunUntilError: (command) => run('executeCommandRunUntilError', command),
  sendManualInterrupt: async () => ({ interrupted: (await call('sendManualInterrupt')).interrupted }),
};

export const project = {
  getProjectPath: async () => (await call('projectEvent', 'getProjectPath')).projectPath,
  getProjectFiles: async () => (await call('projectEvent', 'getProjectFiles')).files,
};

const startCapability = (capabilityName, capabilityType, params, timeout, options) =>
  start('capabilityEvent', 'startCapability', { capabilityName, capabilityType, params, timeout, ...options });

export const capability = {
  startCapability,
  startSkill: (name, params, timeout, options) => startCapability(name, 'skill', params, timeout, options),
  startPower: (name, params, timeout, options) => startCapability(name, 'power', params, timeout, options),
  startTalent: (name, params, timeout, options) => startCapability(name, 'talent', params, timeout, options),
  getCapabilityDetail: async (capabilityName, capabilityType) =>
    (await call('capabilityEvent', 'getCapabilityDetail', { capabilityName, capabilityType })).capability,
  listExecutors: async () => (await call('capabilityEvent', 'listExecutors')).executors,
  listCapabilities: async (filter) =>
    (await call('capabilityEvent', 'listCapabilities', typeof filter === 'string' ? { type: filter } : { filter }))
      .capabilities,
  listSkills: async () => (await call('capabilityEvent', 'listSkills')).capabilities,
  stopCapability: (executionId) => start('capabilityEvent', 'stopCapability', { executionId }),
  getExecutionStatus: (executionId) => start('capabilityEvent', 'getExecutionStatus', { executionId }),
  getActiveExecutions: async () => (await call('capabilityEvent', 'getActiveExecutions')).executions,
};

export const sideExecution = {
  startWithActionBlock: (actionBlockName, params, timeout, options) =>
    start('sideExecutionEvent', 'startWithActionBlock', { actionBlockName, params, timeout, ...options }),
  startWithCode: (code, params, timeout, options) =>
    start('sideExecutionEvent', 'startWithCode', { code, params, timeout, ...options }),
  stop: (sideExecutionId) => start('sideExecutionEvent', 'stop', { sideExecutionId }),
  getStatus: (sideExecutionId) => start('sideExecutionEvent', 'getStatus', { sideExecutionId }),
};

export const chat = {
  sendMessage: async (text) => void (await call('chatEvent', 'sendMessage', { text })),
  waitForReply: async (text) => void (await call('chatEvent', 'waitForReply', { text })),
};

export const codebolt = { onActionBlockInvocation, fs, terminal, project, capability, sideExecution, chat };

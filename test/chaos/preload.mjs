// Loaded into the daemon with `node --import`: ends it with SIGKILL at one exact boundary of an effect, where no script could.
//   CHAOS_KILL   {"at": name, "nth": n}: the n-th time that `name` happens; `boundary` is any of them
//   CHAOS_ROOT   the folder of the workspaces, to recognise their mkdir
// Only this file reads these variables; agents and hooks do not get them.
import { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';
import { watched } from './preload-sqlite.mjs';

const { at, nth } = JSON.parse(process.env.CHAOS_KILL);
const root = process.env.CHAOS_ROOT;
let seen = 0;

globalThis.chaosReached = (name) => {
  if (name !== at && at !== 'boundary') return;
  seen += 1;
  if (seen === nth) process.kill(process.pid, 'SIGKILL');
};

for (const [method, nameOf] of Object.entries({
  mkdir: (path) => mkdirName(path),
  writeFile: (path) => (dirname(path).endsWith('/.baton/creating') ? 'marking' : 'other_write'),
  unlink: (path) => (dirname(path).endsWith('/.baton/creating') ? 'confirming' : 'other_unlink'),
  rename: (path, target) => renameName(String(path), String(target)),
  rm: (path) => (dirname(path).endsWith('/.baton/trash') ? 'deleting' : 'other_rm'),
  mkdtemp: (path) => (basename(path) === 'save-' ? 'saving' : 'other_mkdtemp'),
  copyFile: () => 'copying',
})) {
  const named = (args) => nameOf(...args.map((arg) => (arg instanceof URL ? arg.pathname : arg)));
  const { [method]: later } = promises;
  promises[method] = async (...args) => {
    const name = named(args);
    reached('before', name);
    try {
      return await later.apply(promises, args);
    } finally {
      reached('after', name);
    }
  };
  const { [`${method}Sync`]: now } = fs;
  fs[`${method}Sync`] = (...args) => {
    // Node.js itself writes to descriptors with these.
    const name = typeof args[0] === 'number' ? null : named(args);
    reached('before', name);
    try {
      return now.apply(fs, args);
    } finally {
      reached('after', name);
    }
  };
}

function reached(side, name) {
  if (name !== null) globalThis.chaosReached(`${side}_${name}`);
}

syncBuiltinESMExports();

const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function (...args) {
  globalThis.chaosReached('before_spawn');
  const result = spawn.apply(this, args);
  globalThis.chaosReached('after_spawn');
  return result;
};

// The classes of the real package cannot be patched, so the daemon gets subclasses.
const require = createRequire(import.meta.url);
const sqlite = require('@photostructure/sqlite');
require.cache[require.resolve('@photostructure/sqlite')].exports = {
  ...sqlite,
  DatabaseSync: watched(sqlite.DatabaseSync),
};

/** `null`: it only makes sure that a folder is there, time and again. */
function mkdirName(path) {
  if (/\/\.baton(\/(creating|trash))?$/.test(path)) return null;
  return dirname(path) === root ? 'mkdir' : 'other_mkdir';
}

function renameName(path, target) {
  if (dirname(target).endsWith('/.baton/trash')) return 'trash';
  return basename(path).startsWith('.partial-') ? 'saved' : 'other_rename';
}

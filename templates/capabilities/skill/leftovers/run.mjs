// Looks through the workspace (the current folder) and prints {"clean": true|false, "found": [{"file", "what"}]}.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const MAX_FILES = 20_000;
const MAX_FOUND = 50;
const SKIPPED = new Set(['.git', 'node_modules', '.venv', 'target', 'dist', '.demo']);

const { max_file_kb: maxFileKb = 1000 } = JSON.parse(readFileSync(0, 'utf8') || '{}');
const root = process.cwd();
const found = [];
const folders = [root];
let files = 0;

const report = (path, what) => {
  if (found.length < MAX_FOUND) found.push({ file: relative(root, path), what });
};

for (let folder = folders.pop(); folder !== undefined && files < MAX_FILES; folder = folders.pop()) {
  for (const { name } of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, name);
    const stats = lstatSync(path);
    if (stats.isDirectory() && !SKIPPED.has(name)) folders.push(path);
    if (!stats.isFile()) continue;
    files += 1;
    if (/(?:~|\.orig|\.rej|\.swp)$/.test(name)) report(path, 'looks like a backup of an editor');
    if (stats.size > maxFileKb * 1024) report(path, `has ${Math.round(stats.size / 1024)} KB`);
    else if (/^(?:<{7}|>{7}) /m.test(readFileSync(path, 'latin1'))) report(path, 'holds conflict markers');
  }
}

console.log(JSON.stringify({ clean: found.length === 0, found }));

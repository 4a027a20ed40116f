// The folder that the soaked daemon works on: a workflow that is edited all the time, and issues that come and go. An issue's title
// decides what its agent does, see agent.mjs.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const AGENT = fileURLToPath(new URL('agent.mjs', import.meta.url));
/** How long a waiting issue stays unchanged before another user moves it. */
const WAITS_MS = 700;

/** Half of them succeed at once; the others fail in every known way. */
const KINDS = ['works', 'fails', 'works', 'dies', 'asks', 'works', 'stalls', 'continues', 'floods', 'works', 'babbles'];
KINDS.push('orphans', 'works', 'waits', 'inquires', 'works', 'hook-fails', 'works', 'has-git');

const HOOKS = {
  after_create: [
    'printf %s "$BATON_ISSUE_TITLE" > kind',
    'if [ "$BATON_ISSUE_TITLE" = has-git ]; then git init -q . && git -c user.name=s -c user.email=s@s commit -q --allow-empty -m first && echo new > new.txt; fi',
  ].join('\n'),
  before_run:
    'echo "$BATON_RUN_ID" >> runs\nif [ "$BATON_ISSUE_TITLE" = hook-fails ] && [ "$(wc -l < runs)" = 1 ]; then exit 1; fi',
  after_run: 'echo "$BATON_RUN_OUTCOME" >> outcomes; sleep 600 &',
  before_remove: 'cat outcomes',
};

export class Board {
  #next = 0;
  #edition = 0;
  /** When each issue came up, by its name. */
  #born = new Map();
  isOpen = true;

  /** So many issues are there at a time. */
  constructor(dir, mostOpen) {
    this.dir = dir;
    this.mostOpen = mostOpen;
    this.tasks = join(dir, 'backlog', 'tasks');
    this.workspaces = join(dir, 'workspaces');
    for (const name of ['home', 'tmp']) mkdirSync(join(dir, name));
    mkdirSync(this.tasks, { recursive: true });
    this.editWorkflow();
  }

  get created() {
    return this.#next;
  }

  get openIssues() {
    return this.#born.size;
  }

  /** One round: removes finished issues, adds missing ones, answers questions. */
  tend(parked) {
    for (const [name, { path, bornAtMs }] of this.#born) {
      const text = readFileSync(path, 'utf8');
      const isDone = /^status: Done$/m.test(text);
      if (isDone && !existsSync(join(this.workspaces, name))) this.#remove(name, path);
      else if (!isDone && /^title: waits$/m.test(text) && Date.now() - bornAtMs > WAITS_MS)
        put(path, text.replace(/^status: .*$/m, 'status: Done'));
      // An answer in the description frees an issue that was parked with a question.
      else if (!isDone && parked.has(name)) put(path, `${text}\nMore: ${Date.now()}\n`);
    }
    while (this.isOpen && this.#born.size < this.mostOpen) this.add(KINDS[this.#next % KINDS.length]);
  }

  add(kind) {
    this.#next += 1;
    const name = `TASK-${this.#next}`;
    const path = join(this.tasks, `task-${this.#next} - ${kind}.md`);
    put(path, `---\nid: ${name}\ntitle: ${kind}\nstatus: To Do\n---\n\nDo what the title says.\n`);
    this.#born.set(name, { path, bornAtMs: Date.now() });
  }

  /** The same settings written differently, other settings, or an invalid edit. */
  editWorkflow(variant = 'plain') {
    this.#edition += 1;
    const settings = {
      tracker: { kind: 'local' },
      polling: { interval_ms: variant === 'asking' ? 70 : 100 },
      workspace: { root: 'workspaces', min_free_mb: 1 },
      hooks: { ...HOOKS, timeout_ms: 20_000 },
      agent: {
        max_concurrent_agents: variant === 'asking' ? 5 : 6,
        max_turns: 3,
        max_retry_backoff_ms: 200,
        max_attempts: 0,
        max_runs_without_progress: 0,
        input_timeout_ms: 300,
        on_input_timeout: 'decline',
      },
      codex: {
        command: `'${process.execPath}' '${AGENT}'`,
        stall_timeout_ms: 1_500,
        read_timeout_ms: 20_000,
        on_approval_request: variant === 'asking' ? 'ask' : 'decline',
      },
      runtime: { env_allow: ['BATON_SOAK_*'] },
    };
    const text = variant === 'faulty' ? 'agent: [' : JSON.stringify(settings);
    put(
      join(this.dir, 'WORKFLOW.md'),
      `---\n${text}\n---\nEdition ${this.#edition}: {{ issue.identifier }} {{ issue.title }}\n`,
    );
  }

  #remove(name, path) {
    rmSync(path);
    this.#born.delete(name);
  }
}

/** Writes and renames as editors do, so no reader sees a partial file. */
function put(path, text) {
  const half = `${path}.half`;
  writeFileSync(half, text);
  renameSync(half, path);
}

export function namesIn(folder) {
  try {
    return readdirSync(folder, { recursive: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

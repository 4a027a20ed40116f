import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DatabaseSync } from '@photostructure/sqlite';
import { RedmineRest } from './redmine-rest.js';
import { until } from './until.js';

/** Where Debian's package puts the program. */
const REDMINE = '/usr/share/redmine';
const WORLD = fileURLToPath(new URL('redmine.rake', import.meta.url));

export type Login = 'admin' | 'baton' | 'ann' | 'eve' | 'carl';

/**
 * Debian's Redmine with a folder of its own for everything that it writes (database, log, cache), below the system's temp directory and with the
 * rights of whoever runs the tests. Who lives there is in redmine.rake: `baton` and, through a group, `carl` are developers of `demo`, `ann` manages everything,
 * `eve` is a member of nothing.
 */
export class RedmineServer {
  url = '';
  readonly #env: NodeJS.ProcessEnv;
  #people: { readonly [login in Login]: { readonly id: number; readonly key: string } } | null = null;
  #child: ChildProcess | null = null;
  #output = '';

  private constructor(readonly dir: string) {
    this.#env = {
      ...{ PATH: '/usr/bin:/bin', HOME: dir, LANG: 'C.UTF-8', RAILS_ENV: 'production', VERBOSE: 'false' },
      BUNDLE_GEMFILE: join(dir, 'Gemfile'),
      // Migrations write the schema dump here; other folders are read-only.
      SCHEMA: join(dir, 'schema.rb'),
      PEOPLE_FILE: join(dir, 'people.json'),
      // The name of an instance is a folder below Debian's own; this one leads out of there.
      REDMINE_INSTANCE: `../../../../../..${dir}`,
    };
  }

  static async start(): Promise<RedmineServer> {
    const server = new RedmineServer(realpathSync(mkdtempSync(join(tmpdir(), 'baton-redmine-'))));
    try {
      await server.#makeWorld();
      await server.serve();
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  /** The REST API as this person uses it. */
  as(login: Login): RedmineRest {
    return new RedmineRest(this.url, this.keyOf(login));
  }

  keyOf(login: Login): string {
    return this.#people?.[login].key ?? '';
  }

  idOf(login: Login): number {
    return this.#people?.[login].id ?? 0;
  }

  /** Administration that has no REST API, done in the database. */
  database(sql: string, ...values: (string | number)[]): void {
    const db = new DatabaseSync(join(this.dir, 'redmine.sqlite3'));
    db.exec('PRAGMA busy_timeout = 5000');
    db.prepare(sql).run(...values);
    db.close();
  }

  setting(name: string, value: string): void {
    // Before each request Redmine looks whether one is newer than those that it knows.
    const soon = new Date(Date.now() + 86_400_000).toISOString().slice(0, 19).replace('T', ' ');
    this.database('DELETE FROM settings WHERE name = ?', name);
    this.database('INSERT INTO settings (name, value, updated_on) VALUES (?, ?, ?)', name, value, soon);
  }

  /** Again on the same address, where it has served before. */
  async serve(): Promise<void> {
    const bind = this.url === '' ? 'tcp://127.0.0.1:0' : this.url.replace('http:', 'tcp:');
    const puma = ['puma', '--environment', 'production', '--bind', bind, '--threads', '1:4', 'config.ru'];
    // It ends with this process, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...puma], { cwd: REDMINE, env: this.#env });
    this.#child = child;
    this.#output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-10_000);
      });
    }
    const failed = new Promise<never>((_, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`Redmine ended with ${code}: ${this.#output}`)));
    });
    failed.catch(() => {});
    const listening = until('an address of Redmine', 60_000, () => /Listening on (http:\S+)/.exec(this.#output)?.[1]);
    this.url = await Promise.race([listening, failed]);
  }

  /** Ends it by its pid. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  async #makeWorld(): Promise<void> {
    for (const folder of ['config', 'files', 'log', 'public/plugin_assets', 'tmp']) {
      mkdirSync(join(this.dir, folder), { recursive: true });
    }
    const database = { adapter: 'sqlite3', database: join(this.dir, 'redmine.sqlite3'), timeout: 10_000 };
    writeFileSync(join(this.dir, 'config/database.yml'), JSON.stringify({ production: database }));
    writeFileSync(join(this.dir, 'config/secret_key.txt'), 'only for tests '.repeat(4));
    // Debian's names a database only where it can read the settings of an instance, and its lock file is not ours to write.
    const sqlite = "gem 'sqlite3' unless dependencies.any? { |each| each.name == 'sqlite3' }";
    writeFileSync(join(this.dir, 'Gemfile'), `eval_gemfile '${REDMINE}/Gemfile'\n${sqlite}\n`);
    const limits = { timeout: 150_000, maxBuffer: 10_000_000 };
    await promisify(execFile)('bin/rake', ['-f', WORLD, 'world'], { cwd: REDMINE, env: this.#env, ...limits });
    const path = join(this.dir, 'people.json');
    if (!existsSync(path)) throw new Error('Redmine was set up and nobody lives there');
    this.#people = JSON.parse(readFileSync(path, 'utf8'));
  }
}

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RedmineServer } from './redmine-server.js';
import { type TestBed, type TestBedOptions, testBed } from './test-bed.js';

export interface RedmineBed extends TestBed {
  readonly project: string;
  /** Every file below the folder of the test, as text. */
  everythingWritten(): string;
}

export interface RedmineBedOptions extends Pick<TestBedOptions, 'settings' | 'codex'> {
  /** Further keys of `tracker`, and of its provider, as YAML of one line. */
  readonly tracker?: string;
  readonly provider?: string;
  readonly key?: string;
}

const PROMPT = `Work on {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}
{% for comment in issue.comments %}
{{ comment.author }} said: {{ comment.body }}
{% endfor %}`;

let projects = 0;

/** A new project with the key of `baton`, a developer of the project. `ann` manages it. */
export async function redmineBed(redmine: RedmineServer, options: RedmineBedOptions = {}): Promise<RedmineBed> {
  const project = `project-${++projects}`;
  const admin = redmine.as('admin');
  await admin.send('POST', '/projects.json', { project: { name: project, identifier: project } });
  const { roles } = await admin.send('GET', '/roles.json');
  for (const [login, role] of [['baton', 'Developer'] as const, ['ann', 'Manager'] as const]) {
    const role_ids = roles.filter(({ name }: { name: string }) => name === role).map(({ id }: { id: number }) => id);
    const membership = { user_id: redmine.idOf(login), role_ids };
    await admin.send('POST', `/projects/${project}/memberships.json`, { membership });
  }
  const provider = `{ endpoint: "${redmine.url}", project: ${project}${more(options.provider)} }`;
  const bed = await testBed({
    ...options,
    tracker: `{ kind: redmine, provider: ${provider}${more(options.tracker)} }`,
    prompt: PROMPT,
    env: { REDMINE_API_KEY: options.key ?? redmine.keyOf('baton') },
  });
  return { ...bed, project, everythingWritten: () => textBelow(bed.dir) };
}

function more(keys: string | undefined): string {
  return keys === undefined ? '' : `, ${keys}`;
}

function textBelow(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return files
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true)
    .map((file) => `--- ${file}\n${readFileSync(file, 'latin1')}`)
    .join('\n');
}

import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.js';

/** A folder in the format of Backlog.md, written and read as a person with an editor would. */
export class Board {
  readonly tasks: string;

  constructor(readonly path: string) {
    this.tasks = join(path, 'tasks');
  }

  add(id: string, title: string, description = 'Do it.'): void {
    mkdirSync(this.tasks, { recursive: true });
    const text = `---
id: ${id}
title: ${title}
status: To Do
assignee: []
created_date: '2026-11-16 04:25'
labels: []
dependencies: []
priority: high
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
${description}
<!-- SECTION:DESCRIPTION:END -->
`;
    const file = join(this.tasks, `${id.toLowerCase()} - ${title.replaceAll(' ', '-')}.md`);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }

  text(id: string): string {
    const texts = readdirSync(this.tasks)
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(join(this.tasks, name), 'utf8'));
    return texts.find((text) => text.includes(`\nid: ${id}\n`)) ?? '';
  }

  state(id: string): string | null {
    return /^status: *['"]?(.*?)['"]?$/m.exec(this.text(id))?.[1] ?? null;
  }

  async isIn(id: string, state: string, limitMs = 30_000): Promise<void> {
    await until(`${id} in "${state}"`, limitMs, () => (this.state(id) === state ? true : undefined));
  }
}

/** Actions of a user over Redmine's REST API. */
export class RedmineRest {
  constructor(
    readonly url: string,
    private readonly key: string,
  ) {}

  /** Its number. */
  async addIssue(subject: string, more: object = {}): Promise<number> {
    const { issue } = await this.send('POST', '/issues.json', { issue: { project_id: 'demo', subject, ...more } });
    return issue.id;
  }

  async change(number: number, issue: object): Promise<void> {
    await this.send('PUT', `/issues/${number}.json`, { issue });
  }

  /** `from` has to be closed before `to` can be. The number of the relation. */
  async block(from: number, to: number): Promise<number> {
    const body = { relation: { issue_to_id: to, relation_type: 'blocks' } };
    const { relation } = await this.send('POST', `/issues/${from}/relations.json`, body);
    return relation.id;
  }

  async state(number: number): Promise<string> {
    const { issue } = await this.send('GET', `/issues/${number}.json`);
    return issue.status.name;
  }

  async notes(number: number): Promise<string[]> {
    const { issue } = await this.send('GET', `/issues/${number}.json?include=journals`);
    return issue.journals.map(({ notes }: { notes: string }) => notes).filter((text: string) => text !== '');
  }

  // biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
  async send(method: string, path: string, body?: object): Promise<any> {
    const headers = { 'x-redmine-api-key': this.key, 'content-type': 'application/json' };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return text === '' ? null : JSON.parse(text);
  }
}

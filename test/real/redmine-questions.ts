/** A server, and the numbers that it gave to issues of the same kind. */
interface Asked {
  readonly url: string;
  readonly key: string;
  readonly numbers: {
    readonly own: number;
    /** Blocked by `own`, through `relation`. */
    readonly blocked: number;
    readonly relation: number;
    /** In a project that the account does not see. */
    readonly secret: number;
    readonly ann: number;
  };
}

/** Sends both the same requests. The fake may have fewer fields than the real Redmine, but no other ones. */
export async function differences(fake: Asked, real: Asked): Promise<string[]> {
  const wrong: string[] = [];
  const [there, here] = [questions(fake.numbers), questions(real.numbers)];
  for (const [n, question] of here.entries()) {
    const expected = await answerTo(question, real);
    const told = await answerTo(there[n] ?? question, fake);
    const invented = inventions(told.body, expected.body);
    if (told.status === expected.status && invented.length === 0) continue;
    const asked = `${question.method} ${question.path} ${JSON.stringify(question.body ?? '')}`;
    wrong.push(`${asked}: ${told.status} instead of ${expected.status}, invented ${invented.join()}`);
  }
  return wrong;
}

interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly isStranger?: boolean;
}

/** The requests of adapter and tool, and requests that must be refused. */
function questions({ own, blocked, secret, relation, ann }: Asked['numbers']): Question[] {
  const get = (path: string) => ({ method: 'GET', path });
  const put = (number: number, issue: object) => ({ method: 'PUT', path: `/issues/${number}.json`, body: { issue } });
  const post = (issue: object) => ({ method: 'POST', path: '/issues.json', body: { issue } });
  const list =
    '/issues.json?subproject_id=!*&status_id=1|2&sort=created_on:asc,id&include=relations&limit=100&offset=0';
  const reads = [
    ...['/users/current.json', '/issue_statuses.json', '/trackers.json', `/users/${ann}.json`, '/users/99999.json'],
    ...[`${list}&project_id=demo`, `${list}&project_id=nope`, `${list}&project_id=secret`, '/issues.json?issue_id=x'],
    ...['/issues.json?issue_id=99999,99998&status_id=*', '/issues.json?status_id=*&limit=1000&offset=7'],
    ...[`/issues/${blocked}.json?include=journals,relations,allowed_statuses`, '/issues/99999.json'],
    ...[
      `/issues/${secret}.json`,
      `/issues/${own}/relations.json`,
      `/relations/${relation}.json`,
      '/relations/99999.json',
    ],
    ...['/projects/demo.json', '/projects/nope.json', '/projects/secret.json', '/projects/demo/memberships.json'],
    ...['/projects/demo/versions.json', '/projects/demo/issue_categories.json'],
  ].map(get);
  const changes = [
    ...[put(own, { notes: 'A word.' }), put(own, { status_id: 99 }), put(blocked, { status_id: 5 })],
    ...[put(own, { subject: '' }), put(99_999, { notes: 'x' }), put(secret, { notes: 'x' })],
    ...[post({ subject: 'x' }), post({ project_id: 'demo' }), post({ project_id: 'secret', subject: 'x' })],
    post({ project_id: 'demo', subject: 'New one', category_id: 1 }),
  ];
  const strange = ['/users/current.json', `${list}&project_id=demo`, '/issue_statuses.json', `/issues/${secret}.json`];
  return [
    ...reads,
    ...changes,
    ...[...strange.map(get), put(own, { notes: 'x' })].map((question) => ({ ...question, isStranger: true })),
  ];
}

async function answerTo(question: Question, { url, key }: Asked): Promise<{ status: number; body: unknown }> {
  const { method, path, body, isStranger } = question;
  const headers = { 'content-type': 'application/json', 'x-redmine-api-key': isStranger ? 'f'.repeat(40) : key };
  const response = await fetch(`${url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

/** The paths where `told` differs from `real`. Lists are compared by their first item; `null` matches any value. */
function inventions(told: unknown, real: unknown, path = ''): string[] {
  if (told === null || real === null) return [];
  if (typeof told !== typeof real || Array.isArray(told) !== Array.isArray(real)) return [path];
  if (Array.isArray(told) && Array.isArray(real)) {
    return told.length === 0 || real.length === 0 ? [] : inventions(told[0], real[0], `${path}[]`);
  }
  if (typeof told !== 'object') return [];
  const others = new Map(Object.entries(real as object));
  return Object.entries(told as object).flatMap(([key, value]) =>
    others.has(key) ? inventions(value, others.get(key), `${path}.${key}`) : [`${path}.${key}`],
  );
}

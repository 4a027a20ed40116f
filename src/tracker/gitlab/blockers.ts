import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';
import type { Blocker } from '../../domain/issue.js';
import { graphql } from '../http/graphql.js';
import type { HttpReading } from '../http/tracker-http.js';
import { inParallel } from '../in-parallel.js';
import type { LabelStates } from '../label-states.js';
import { GITLAB, type GitlabApi } from './api.js';
import { identifierOf, iidOf } from './issue-number.js';
import { CLOSED, OPENED } from './own-states.js';
import type { Project } from './project.js';

/** REST would take a question per issue. The count is of open blockers, whether the token may see them or not. */
export const BLOCKERS_QUERY = `query BatonBlockers($project: ID!, $iids: [String!]) {
  project(fullPath: $project) {
    workItems(iids: $iids) {
      nodes {
        iid
        widgets {
          ... on WorkItemWidgetLinkedItems {
            blockedByCount
            linkedItems {
              nodes {
                linkType
                workItem {
                  iid
                  state
                  reference(full: true)
                  widgets { ... on WorkItemWidgetLabels { labels { nodes { title } } } }
                }
              }
            }
          }
        }
      }
    }
  }
}`;

/** As many issues as one question is about. */
const BATCH = 50;
const AT_ONCE = 4;
/** The field that only editions have in which an issue can block another. */
const PAID_FIELD = 'blockedByCount';
const HIDDEN: Blocker = { id: null, identifier: 'an issue that the token may not see', state: null };

/** What issues are blocked by. An instance that knows no blockers is asked once. */
export class Blockers {
  #missingField: string | null = null;

  constructor(
    private readonly api: GitlabApi,
    private readonly project: Project,
    private readonly states: LabelStates,
  ) {}

  /** By number; an issue that is not there has none. */
  async read(iids: readonly number[], reading: HttpReading): Promise<ReadonlyMap<number, readonly Blocker[]>> {
    const found = new Map<number, readonly Blocker[]>();
    if (iids.length === 0 || this.#missingField !== null) return found;
    const { fullPath } = await this.project.facts(reading);
    const batches = Array.from({ length: Math.ceil(iids.length / BATCH) }, (_, n) =>
      iids.slice(n * BATCH, (n + 1) * BATCH),
    );
    await inParallel(batches, AT_ONCE, async (batch) => {
      if (this.#missingField !== null) return;
      for (const node of await this.#ask(fullPath, batch, reading)) {
        const iid = iidOf(textOf(node.iid) ?? '');
        if (iid !== null) found.set(iid, this.#blockersIn(node, fullPath));
      }
    });
    return this.#missingField === null ? found : new Map();
  }

  /** A sentence for people, where blockers should be known and are not. */
  get problem(): string | null {
    if (this.#missingField === null || this.#missingField === PAID_FIELD) return null;
    return `${GITLAB} does not tell what blocks an issue: it knows no "${this.#missingField}". Blockers do not count until GitLab or Baton is updated.`;
  }

  async #ask(fullPath: string, iids: readonly number[], reading: HttpReading): Promise<readonly Fields[]> {
    const { api } = this;
    try {
      const { project } = await graphql({
        ...{ reading, name: GITLAB, path: api.graphqlPath, query: BLOCKERS_QUERY },
        variables: { project: fullPath, iids: iids.map(String) },
        mask: (text) => api.mask(text),
        classify: missingField,
      });
      const { nodes } = fieldsOf(fieldsOf(project).workItems);
      if (Array.isArray(nodes)) return nodes.map(fieldsOf);
    } catch (error) {
      if (!(error instanceof BatonError) || typeof error.details.missingField !== 'string') throw error;
      this.#missingField = error.details.missingField;
      return [];
    }
    const message = `${GITLAB}'s GraphQL API shows no issues of ${fullPath} to this token. It needs the scope api and a role in that project.`;
    throw new BatonError('tracker_response', message);
  }

  #blockersIn(node: Fields, fullPath: string): readonly Blocker[] {
    const links = listOf(node.widgets)
      .map(fieldsOf)
      .find((widget) => widget.linkedItems !== undefined);
    const items = listOf(fieldsOf(links?.linkedItems).nodes)
      .map(fieldsOf)
      .filter(({ linkType, workItem }) => linkType === 'is_blocked_by' && fieldsOf(workItem).iid !== undefined)
      .map(({ workItem }) => fieldsOf(workItem));
    const isHidden = Number(links?.[PAID_FIELD] ?? 0) > items.filter(({ state }) => state !== 'CLOSED').length;
    return [...items.map((item) => this.#blocker(item, fullPath)), ...(isHidden ? [HIDDEN] : [])];
  }

  #blocker(item: Fields, fullPath: string): Blocker {
    const { iid: written, state, reference, widgets } = item;
    const iid = iidOf(String(written));
    const isOpen = state === 'OPEN' ? true : state === 'CLOSED' ? false : null;
    const name = textOf(reference) ?? `#${String(written)}`;
    if (iid === null || name.toLowerCase() !== `${fullPath}#${iid}`.toLowerCase()) {
      // Labels of another project are nobody's states here.
      return { id: name, identifier: name, state: isOpen === null ? null : isOpen ? OPENED : CLOSED };
    }
    const labels = listOf(widgets)
      .flatMap((widget) => listOf(fieldsOf(fieldsOf(widget).labels).nodes))
      .flatMap((label) => textOf(fieldsOf(label).title) ?? []);
    const known = isOpen === null ? null : this.states.of(isOpen, labels).state;
    return { id: String(iid), identifier: identifierOf(iid), state: known };
  }
}

/** How GitLab says that it does not know a field. */
function missingField({ extensions, message }: Fields): BatonError | null {
  const { code, fieldName } = fieldsOf(extensions);
  if (code !== 'undefinedField') return null;
  return new BatonError('tracker_response', textOf(message) ?? 'a field is missing', {
    missingField: textOf(fieldName) ?? 'one of the fields',
  });
}

import { issueHref } from '../model/route.js';
import { linkAddress, shownLine } from '../model/shown-text.js';

interface Named {
  readonly issue_identifier: string;
  readonly title: string;
}

/** Identifier and title, leading to the view of the issue. Titles are anybody's: they stay in their own direction and in one line. */
export function IssueName({ issue }: { readonly issue: Named }) {
  return (
    <a class="issue-name" href={issueHref(issue.issue_identifier)}>
      <span class="identifier">{shownLine(issue.issue_identifier)}</span>{' '}
      <bdi class="title">{shownLine(issue.title) || '(no title)'}</bdi>
    </a>
  );
}

/** To the tracker, where the address is one that a browser may follow; else as text. */
export function TrackerLink({ url }: { readonly url: string | null }) {
  const address = linkAddress(url);
  if (address !== null) {
    return (
      <a class="tracker-link" href={address} target="_blank" rel="noreferrer noopener">
        Open in the tracker
      </a>
    );
  }
  return url === null ? null : <span class="address">{shownLine(url)}</span>;
}

import { useEffect, useState } from 'preact/hooks';
import type { IssueView } from '../../status/shapes/issue-shape.js';
import { ApiError, getJson, issuePath } from '../live/api.js';
import { useSession } from '../parts/session.js';

export interface IssueDetails {
  readonly issue: IssueView | null;
  /** Why there is nothing, or nothing newer. */
  readonly error: ApiError | null;
}

const NOTHING: IssueDetails = { issue: null, error: null };

/** The details of an issue; read again when `standing` has become another, or somebody has changed something here. */
export function useIssue(identifier: string, standing: string): IssueDetails {
  const { access, changes } = useSession();
  const [known, setKnown] = useState<{ readonly of: string; readonly details: IssueDetails }>({
    of: '',
    details: NOTHING,
  });
  // `standing` and `changes` are the reasons to ask again.
  useEffect(() => {
    const asking = new AbortController();
    getJson<IssueView>(access, issuePath(identifier), asking.signal).then(
      (issue) => setKnown({ of: identifier, details: { issue, error: null } }),
      (error) => {
        if (asking.signal.aborted || !(error instanceof ApiError)) return;
        // What is known stays readable, unless the daemon says that there is no such issue.
        setKnown((before) => {
          const issue = before.of === identifier && error.status !== 404 ? before.details.issue : null;
          return { of: identifier, details: { issue, error } };
        });
      },
    );
    return () => asking.abort();
  }, [access, identifier, standing, changes]);
  return known.of === identifier ? known.details : NOTHING;
}

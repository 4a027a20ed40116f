import { useState } from 'preact/hooks';
import { ApiError, request, runPath } from '../live/api.js';
import { shownLine } from '../model/shown-text.js';
import { useSession } from '../parts/session.js';

/** Everything that was said in a run, as a file. With a token it is asked for by the page, as a plain link could not show one. */
export function TranscriptLink({ identifier, runId }: { readonly identifier: string; readonly runId: string }) {
  const { access } = useSession();
  const [problem, setProblem] = useState('');
  const path = runPath(identifier, 'transcript', runId);
  const name = `${identifier}-${runId}.jsonl`.replace(/[^\w.-]/g, '_');
  const save = async () => {
    try {
      const answer = await request(access, path);
      saveAs(name, await answer.blob());
      setProblem('');
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : 'It could not be saved.');
    }
  };
  return (
    <span class="transcript">
      <a
        href={path}
        download={name}
        onClick={(event) => {
          if (access.token === null) return;
          event.preventDefault();
          void save();
        }}
      >
        Save the transcript
      </a>
      <output class="action-result is-bad">{shownLine(problem)}</output>
    </span>
  );
}

function saveAs(name: string, content: Blob): void {
  const href = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
  URL.revokeObjectURL(href);
}

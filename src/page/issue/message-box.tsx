import { useId, useState } from 'preact/hooks';
import { issuePath } from '../live/api.js';
import { shownLine } from '../model/shown-text.js';
import { ActionResult } from '../parts/controls.js';
import { useSession } from '../parts/session.js';
import { READ_MS, useAction } from '../parts/use-action.js';

/** Words to an agent at work: it reads them in the middle of its turn. */
export function MessageBox({ identifier }: { readonly identifier: string }) {
  const { canAct, drafts } = useSession();
  const key = `message/${identifier}`;
  const id = useId();
  const [text, setText] = useState(drafts.get(key));
  const [state, send, clear] = useAction(READ_MS);
  if (!canAct) return null;
  const write = (value: string) => {
    drafts.set(key, value);
    setText(value);
    if (state.kind !== 'busy') clear();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    if (!(await send(issuePath(identifier, '/message'), { text: text.trim() }))) return;
    drafts.drop(key);
    setText('');
  };
  return (
    <form class="message-box" onSubmit={(event) => void submit(event)}>
      <label for={id}>Message to the agent of {shownLine(identifier)}</label>
      <div class="message-row">
        <textarea
          id={id}
          rows={1}
          value={text}
          placeholder="It reads this while it works"
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
          }}
        />
        <button type="submit" class="button plain" aria-disabled={state.kind === 'busy' || text.trim() === ''}>
          Send message
        </button>
      </div>
      <ActionResult state={state} />
    </form>
  );
}

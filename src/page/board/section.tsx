import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { heldOrder } from '../model/held-order.js';
import { fullCount } from '../model/numbers.js';

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly count: number;
  readonly note?: ComponentChildren;
  readonly isUrgent?: boolean;
  readonly children: ComponentChildren;
}

/** One group of issues, with a heading that says how many. */
export function Section({ id, title, count, note, isUrgent = false, children }: SectionProps) {
  return (
    <section class={`group group-${id}`} id={id} aria-labelledby={`${id}-title`}>
      <header class="group-head">
        <h2 id={`${id}-title`} tabIndex={-1}>
          {title} <span class={isUrgent ? 'count tag-warn' : 'count'}>{fullCount(count)}</span>
        </h2>
        {note === undefined ? null : <p class="group-note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

const PAGE = 50;

interface RowsProps<T> {
  readonly entries: readonly T[];
  readonly ordered?: boolean;
  row(entry: T, place: number): ComponentChildren;
}

/** A list that keeps its order while somebody points at it, and shows a long one in parts. */
export function Rows<T extends { readonly issue_id: string }>({ entries, ordered, row }: RowsProps<T>) {
  const [limit, setLimit] = useState(PAGE);
  const [isHeld, setHeld] = useState(false);
  const ids = useRef<readonly string[]>([]);
  const sorted = isHeld ? heldOrder(entries, ids.current, (entry) => entry.issue_id) : entries;
  ids.current = sorted.map((entry) => entry.issue_id);
  const List = ordered ? 'ol' : 'ul';
  const left = sorted.length - limit;
  return (
    <>
      <List class="rows" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
        {sorted.slice(0, limit).map((entry, place) => row(entry, place))}
      </List>
      {left <= 0 ? null : (
        <div class="more">
          <button type="button" class="button quiet" onClick={() => setLimit(limit + PAGE)}>
            Show {Math.min(PAGE, left)} more
          </button>
          <button type="button" class="button quiet" onClick={() => setLimit(Number.MAX_SAFE_INTEGER)}>
            Show all {fullCount(sorted.length)}
          </button>
        </div>
      )}
    </>
  );
}

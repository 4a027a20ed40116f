import { fullCount } from '../model/numbers.js';

interface FilterProps {
  readonly query: string;
  readonly found: number;
  readonly total: number;
  onQuery(query: string): void;
}

export function Filter({ query, onQuery, found, total }: FilterProps) {
  return (
    <search class="filter">
      <label for="filter" class="unseen">
        Filter issues
      </label>
      <input
        id="filter"
        type="search"
        value={query}
        placeholder="Filter by name, title, state or reason"
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && onQuery('')}
      />
      <output class="faint">
        {query === '' ? `${fullCount(total)} issues` : `${fullCount(found)} of ${fullCount(total)}`}
      </output>
    </search>
  );
}

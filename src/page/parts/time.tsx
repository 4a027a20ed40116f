import { clockTime, elapsed, fullTime, relativeTime } from '../model/relative-time.js';
import { sentenceParts, type TextPart } from '../model/shown-text.js';
import { nowMs, useTicking } from './ticker.js';

/** `3 min ago`, with the whole date behind it. */
export function Ago({ at }: { readonly at: string | null }) {
  const text = useTicking((now) => relativeTime(at, now));
  return at === null || text === '' ? null : (
    <time dateTime={at} title={fullTime(at)}>
      {text}
    </time>
  );
}

/** `14 min 5 s`: how long it has been going on. */
export function Elapsed({ from, to }: { readonly from: string | null; readonly to?: string | null }) {
  const text = useTicking((now) => elapsed(from, to ? Date.parse(to) : now));
  return from === null ? null : (
    <time dateTime={from} title={`since ${fullTime(from)}`}>
      {text}
    </time>
  );
}

/** `14:03:22`. */
export function Clock({ at }: { readonly at: string | null }) {
  return at === null ? null : (
    <time dateTime={at} title={fullTime(at)}>
      {clockTime(at, nowMs())}
    </time>
  );
}

/** A sentence of the daemon or an agent. Give it text that may be shown: `shownLine`. */
export function Sentence({ text }: { readonly text: string }) {
  return (
    <bdi>
      {sentenceParts(text).map((part, at) => (
        <Part key={at} part={part} />
      ))}
    </bdi>
  );
}

function Part({ part: { kind, text } }: { readonly part: TextPart }) {
  if (kind === 'time') return <Clock at={text} />;
  return kind === 'code' ? <code>{text}</code> : <span>{text}</span>;
}

import { formatClock } from '../text/format-time.js';
import { neutralise } from '../text/neutralise.js';
import { cutText } from '../text/phrases.js';

/**
 * Formats a record as one line for people: time, level, message, identifier, then the other fields as key=value. Ids that only programs
 * need are omitted; the JSON lines have them.
 */
export function formatPretty(json: string, { colour }: { readonly colour: boolean }): string {
  const { time, level, msg, issue_identifier, issue_id, session_id, turn_id, ...rest } = JSON.parse(json) as Fields;
  const fields = issue_identifier === undefined && issue_id !== undefined ? { issue_id, ...rest } : rest;
  const paint = (style: number, text: string): string => (colour ? `\u001b[${style}m${text}\u001b[0m` : text);

  const words = [
    paint(GREY, clockTime(time)),
    paint(
      LEVEL_STYLE[String(level)] ?? GREY,
      neutralise(String(level ?? '?'))
        .toUpperCase()
        .padEnd(5),
    ),
    neutralise(String(msg ?? '')),
  ];
  if (issue_identifier !== undefined) words.push(paint(CYAN, neutralise(String(issue_identifier))));
  for (const [key, value] of Object.entries(fields).flatMap(spreadError)) {
    words.push(`${paint(GREY, `${neutralise(key)}=`)}${formatValue(value)}`);
  }
  return `${words.join(' ')}\n`;
}

type Fields = { readonly [key: string]: unknown };

const GREY = 90;
const CYAN = 36;
const LEVEL_STYLE: { readonly [level: string]: number } = { info: 32, warn: 33, error: 31, fatal: 31 };
const MAX_VALUE_CHARS = 500;

/** Local time of day. The date is in the log file and in the journal. */
function clockTime(time: unknown): string {
  const date = new Date(String(time));
  if (Number.isNaN(date.getTime())) return '--:--:--.---';
  return `${formatClock(date.getTime())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Shows the code of our own errors, and the stack of any other error. */
function spreadError([key, value]: [string, unknown]): [string, unknown][] {
  if (!isFields(value) || typeof value.stack !== 'string') return [[key, value]];
  const message: [string, unknown] = [key, value.message ?? value.type];
  return value.type === 'BatonError' ? [message, ['code', value.code]] : [message, ['stack', value.stack]];
}

/** A backslash is not escaped again, because the text may contain escapes already. A cut text keeps its closing quote. */
function formatValue(value: unknown): string {
  if (typeof value !== 'string') return cutText(neutralise(JSON.stringify(value) ?? ''), MAX_VALUE_CHARS);
  const text = cutText(neutralise(value), MAX_VALUE_CHARS);
  return /^[^\s"=]+$/u.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

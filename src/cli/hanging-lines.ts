/** Behind the identifier, where what is told of an issue begins. */
const INDENT = ' '.repeat(11);
const MIN_COLUMNS = 40;

/**
 * Breaks lines as a terminal of that width would, but indents what goes on. Otherwise whoever writes a long enough line
 * decides what stands at the beginning of the next one, where only we speak. Without a width nothing changes.
 */
export function hangingLines(text: string, columns: number | undefined): string {
  if (columns === undefined || columns < MIN_COLUMNS) return text;
  return text
    .split('\n')
    .map((line) => hang(line, columns))
    .join('\n');
}

function hang(line: string, columns: number): string {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const character of line) {
    const own = widthOf(character);
    if (width + own > columns) {
      rows.push(row);
      row = INDENT;
      width = INDENT.length;
    }
    row += character;
    width += own;
  }
  return [...rows, row].join('\n');
}

/** Too wide is a short row, too narrow would let the terminal break it: in doubt wide. */
function widthOf(character: string): number {
  return (character.codePointAt(0) ?? 0) < 0x300 ? 1 : 2;
}

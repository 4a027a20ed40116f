/** At most `max` characters, whole ones; what is cut ends in `…`. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  // Twice as many units as can be shown are enough to look at.
  const characters = Array.from(text.slice(0, max * 2));
  return characters.length <= max && text.length <= max * 2 ? text : `${characters.slice(0, max - 1).join('')}…`;
}

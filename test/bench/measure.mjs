// Shared by the benchmarks: the clock, medians, and printing.
export const now = () => performance.timeOrigin + performance.now();

export function ended(child) {
  return new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
}

export function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

export function ms(value, digits = 0) {
  return `${value.toFixed(digits).padStart(5)} ms`;
}

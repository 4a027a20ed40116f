import { useId } from 'preact/hooks';
import { dayLabel, scaleFor } from '../model/chart-scale.js';
import { fullCount, shortCount } from '../model/numbers.js';

interface Series {
  readonly name: string;
  readonly look: 'tokens' | 'runs' | 'done';
  readonly values: readonly number[];
}

interface BarChartProps {
  readonly title: string;
  readonly summary: string;
  readonly days: readonly string[];
  /** Several are drawn one before the other, the narrower in front. */
  readonly series: readonly Series[];
}

const WIDTH = 300;
const HEIGHT = 90;
const LEFT = 34;
const TOP = 6;

/** Bars by day, drawn by hand. Its numbers stand in the table below the charts. */
export function BarChart({ title, summary, days, series }: BarChartProps) {
  const id = useId();
  const { top, ticks } = scaleFor(series.flatMap(({ values }) => values));
  const step = (WIDTH - LEFT) / Math.max(1, days.length);
  const heightOf = (value: number) => (value / top) * (HEIGHT - TOP);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span> <span class="faint">{summary}</span>
        {series.length > 1 ? <Legend series={series} /> : null}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + 16}`} role="img" aria-labelledby={id}>
        <title id={id}>{`${title}: ${summary}`}</title>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={WIDTH} y1={HEIGHT - heightOf(tick)} y2={HEIGHT - heightOf(tick)} />
            <text class="tick" x={LEFT - 5} y={HEIGHT - heightOf(tick) + 3} text-anchor="end">
              {shortCount(tick)}
            </text>
          </g>
        ))}
        {days.map((day, at) => (
          <g key={day}>
            <title>{tipOf(day, series, at)}</title>
            <rect class="hit" x={LEFT + at * step} y="0" width={step} height={HEIGHT} />
            {series.map(({ look, values }, place) => {
              const width = step * (place === 0 ? 0.72 : 0.36);
              const height = heightOf(values[at] ?? 0);
              const x = LEFT + at * step + (step - width) / 2;
              return <rect key={look} class={`bar-${look}`} x={x} y={HEIGHT - height} width={width} height={height} />;
            })}
          </g>
        ))}
        <DayLabels days={days} step={step} />
      </svg>
    </figure>
  );
}

function DayLabels({ days, step }: { readonly days: readonly string[]; readonly step: number }) {
  const last = days.length - 1;
  return (
    <>
      {[0, last].map((at) => (
        <text
          key={at}
          class="tick"
          x={at === 0 ? LEFT : LEFT + (last + 1) * step}
          y={HEIGHT + 13}
          text-anchor={at === 0 ? 'start' : 'end'}
        >
          {at === last ? 'today' : dayLabel(days[at] ?? '')}
        </text>
      ))}
    </>
  );
}

function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <span class="legend">
      {series.map(({ name, look }) => (
        <span key={look}>
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <rect class={`bar-${look}`} width="8" height="8" />
          </svg>
          {name}
        </span>
      ))}
    </span>
  );
}

function tipOf(day: string, series: readonly Series[], at: number): string {
  return `${dayLabel(day)}: ${series.map(({ name, values }) => `${fullCount(values[at] ?? 0)} ${name}`).join(', ')}`;
}

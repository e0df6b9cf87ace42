import { count, timeOfDay } from './format.ts'
import { type Html, html } from './html.ts'

/** One kind of outcome, a number for each minute. */
export interface Series {
  /** Lower case, such as `stored`. */
  readonly label: string
  /** Which of the style sheet's colours: the usual, a quiet one, and one for what went wrong (also hatched). */
  readonly tone: 'main' | 'quiet' | 'bad'
  readonly values: readonly number[]
}

export interface Chart {
  /** Unique on the page; letters only. */
  readonly id: string
  readonly title: string
  /** Stacked from the bottom up; all equally long, oldest minute first, the last one still running. */
  readonly series: readonly Series[]
  /** When each minute began, in milliseconds since 1970. */
  readonly minutes: readonly number[]
}

const WIDTH = 480
const HEIGHT = 150
const PLOT = { left: 48, top: 12, right: 472, bottom: 126 } as const
const SLOTS = 60
const SLOT = (PLOT.right - PLOT.left) / SLOTS
const GAP = 1.2
/** Between two kinds in one bar: no three colours are far enough from each other and from the paper. */
const SEAM = 1.5
/** However little it is, it must be seen. */
const LEAST = 1.5

/** Stacked bars, one a minute, as SVG that needs no script. What they show is also said in words. */
export function renderChart(chart: Chart): Html {
  const { id, title, series, minutes } = chart
  const totals = minutes.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
  const top = scaleTop(Math.max(0, ...totals))
  return html`<figure class="card chart">
<figcaption><h3>${title}</h3>${legend(series)}</figcaption>
<svg role="img" aria-labelledby="${id}-title ${id}-words" viewBox="0 0 ${WIDTH} ${HEIGHT}">
<title id="${id}-title">${title}, minute by minute</title>
<desc id="${id}-words">${inWords(chart, totals)}</desc>
<defs><pattern id="${id}-hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V4"/></pattern></defs>
${[0, top / 2, top].map((value) => gridLine(value, top))}
${bars(chart, top)}
<text class="label" x="${PLOT.left}" y="${HEIGHT - 6}">1 h ago</text>
<text class="label middle" x="${(PLOT.left + PLOT.right) / 2}" y="${HEIGHT - 6}">30 min ago</text>
<text class="label end" x="${PLOT.right}" y="${HEIGHT - 6}">now</text>
${hints(chart)}
</svg>
</figure>`
}

/** The end of the scale: an even number of at most two digits, and zeros. */
function scaleTop(highest: number): number {
  for (let power = 1; ; power *= 10) {
    for (const step of [2, 4, 6, 8, 12, 16]) if (step * power >= highest) return step * power
  }
}

function legend(series: readonly Series[]): Html {
  return html`<ul class="legend">${series.map(
    ({ label, tone, values }) =>
      html`<li><span class="swatch ${tone}"></span>${label} <b>${count(sum(values))}</b></li>`,
  )}</ul>`
}

function gridLine(value: number, top: number): Html {
  const y = round(PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top))
  return html`<path class="gridline" d="M${PLOT.left} ${y}H${PLOT.right}"/><text class="label end" x="${PLOT.left - 6}" y="${y + 4}">${count(value)}</text>`
}

/** Each series is one path: sixty bars cost a few hundred bytes. */
function bars({ id, series, minutes }: Chart, top: number): readonly Html[] {
  const values = minutes.map(() => 0)
  const tops = minutes.map(() => PLOT.bottom as number)
  return series.flatMap(({ tone, values: added }) => {
    let path = ''
    for (const [at, value] of added.entries()) {
      if (value <= 0) continue
      const below = values[at] ?? 0
      const total = below + value
      values[at] = total
      const bottom = (tops[at] ?? PLOT.bottom) - (below > 0 ? SEAM : 0)
      const y = Math.min(bottom - LEAST, PLOT.bottom - (total / top) * (PLOT.bottom - PLOT.top))
      tops[at] = y
      path += `M${slotX(at, minutes.length)} ${round(y)}h${round(SLOT - GAP)}v${round(bottom - y)}h-${round(SLOT - GAP)}z`
    }
    if (path === '') return []
    const shape = html`<path class="bar ${tone}" d="${path}"/>`
    return tone === 'bad' ? [shape, html`<path fill="url(#${id}-hatch)" d="${path}"/>`] : [shape]
  })
}

/** What a mouse reads where it rests. */
function hints({ series, minutes }: Chart): readonly Html[] {
  return minutes.map((startedAt, at) => {
    const numbers = series.map(({ label, values }) => `${count(values[at] ?? 0)} ${label}`).join(', ')
    return html`<rect class="hint" x="${slotX(at, minutes.length)}" y="${PLOT.top}" width="${round(SLOT)}" height="${PLOT.bottom - PLOT.top}"><title>${timeOfDay(startedAt)} UTC: ${numbers}</title></rect>`
  })
}

function inWords({ series, minutes }: Chart, totals: readonly number[]): string {
  const span = minutes.length < SLOTS ? 'Since the start' : 'In the last hour'
  const sums = series.map(({ label, values }) => `${count(sum(values))} ${label}`).join(', ')
  const most = Math.max(0, ...totals)
  const at = totals.indexOf(most)
  const peak = most === 0 ? '' : ` At most ${count(most)} in a minute, at ${timeOfDay(minutes[at] ?? 0)} UTC.`
  return `${span}: ${sums}.${peak} In the running minute ${count(totals.at(-1) ?? 0)}.`
}

/** The last minute stands at the right edge, however few there are. */
function slotX(at: number, minutes: number): number {
  return round(PLOT.left + (SLOTS - minutes + at) * SLOT + GAP / 2)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

import { expect } from 'chai'
import fc from 'fast-check'
import { renderChart, type Series } from '../../../../sidecar/operator/page/chart.ts'

const START = Date.UTC(2026, 0, 1, 12)

function chart(
  ...series: readonly (readonly [label: string, tone: Series['tone'], values: readonly number[]])[]
): string {
  const minutes = (series[0]?.[2] ?? []).map((_, at) => START + at * 60_000)
  return renderChart({
    id: 'messages',
    title: 'Messages',
    minutes,
    series: series.map(([label, tone, values]) => ({ label, tone, values })),
  }).text
}

const inWords = (markup: string) => /<desc[^>]*>([^<]*)/.exec(markup)?.[1]

/** The rectangles of a series' path. */
function bars(markup: string, tone: string): { x: number; y: number; height: number }[] {
  const path = new RegExp(`class="bar ${tone}" d="([^"]+)"`).exec(markup)?.[1] ?? ''
  return [...path.matchAll(/M([\d.]+) ([\d.]+)h[\d.]+v([\d.]+)h-[\d.]+z/g)].map(([, x, y, height]) => ({
    x: Number(x),
    y: Number(y),
    height: Number(height),
  }))
}

describe('a chart', () => {
  it('says in words what it shows, for those who do not see it', () => {
    const markup = chart(['stored', 'main', [0, 7, 2]], ['lost', 'bad', [0, 1, 0]])
    expect(markup).to.include('role="img" aria-labelledby="messages-title messages-words"')
    expect(inWords(markup)).to.equal(
      'Since the start: 9 stored, 1 lost. At most 8 in a minute, at 12:01 UTC. In the running minute 2.',
    )
    expect(inWords(chart(['stored', 'main', Array(60).fill(0)]))).to.equal(
      'In the last hour: 0 stored. In the running minute 0.',
    )
  })

  it('shows the numbers of each minute where the mouse rests', () => {
    const markup = chart(['stored', 'main', [0, 1234]], ['lost', 'bad', [0, 5]])
    expect(markup).to.include('<title>12:01 UTC: 1,234 stored, 5 lost</title>')
  })

  it('stands the newest minute at the right edge, however few there are', () => {
    const [only] = bars(chart(['stored', 'main', [4]]), 'main')
    const all = bars(chart(['stored', 'main', Array(60).fill(4)]), 'main')
    expect(all.length).to.equal(60)
    expect(all.at(-1)).to.deep.equal(only)
  })

  it('stacks bars on one another with a seam between two kinds, each tall enough to be seen', () => {
    const amount = fc.nat(100_000)
    const values = fc.array(fc.tuple(amount, amount, amount), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(values, (rows) => {
        const tones = ['main', 'quiet', 'bad'] as const
        const markup = chart(...tones.map((tone, at) => [tone, tone, rows.map((row) => row[at] ?? 0)] as const))
        const tops = new Map<number, number>()
        for (const { x, y, height } of tones.flatMap((tone) => bars(markup, tone))) {
          expect(y).to.be.within(0, 126)
          expect(height).to.be.at.least(1.49)
          const below = tops.get(x)
          expect(y + height).to.be.closeTo(below === undefined ? 126 : below - 1.5, 0.03)
          tops.set(x, y)
        }
      }),
    )
  })

  it('marks what went wrong by more than its colour', () => {
    expect(chart(['lost', 'bad', [3]])).to.include('url(#messages-hatch)')
    expect(chart(['lost', 'bad', [0]])).to.not.include('url(#messages-hatch)')
  })
})

import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** One value of a metric, with its labels. */
export interface Reading {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A counter or gauge, read for each scrape. `name` is complete; `labels` are the names of its labels. */
export interface Family {
  readonly kind: 'counter' | 'gauge'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: () => readonly Reading[] | Promise<readonly Reading[]>
}

/** A histogram with one label. */
export interface Distribution {
  readonly name: string
  readonly help: string
  readonly label: string
  /** Every value of the label. All series exist from the start. */
  readonly cases: readonly string[]
  /** Upper bounds, in the unit of the observations. */
  readonly buckets: readonly number[]
}

/** The answer of `/metrics`. */
export interface Exposed {
  readonly contentType: string
  readonly text: string
}

/** Exposes metrics in the Prometheus text format. */
export interface Exposition {
  show(family: Family): void
  /** Adds an observation to the histogram; `labelValue` is the value of its label. */
  observe(labelValue: string, value: number): void
  expose(): Promise<Exposed>
}

/**
 * Creates an exposition with its own registry, so that two in one process share nothing. Loading this file takes some
 * 20 ms.
 */
export function createExposition({ name, help, label, cases, buckets }: Distribution): Exposition {
  const registry = new Registry()
  const histogram = new Histogram({ name, help, labelNames: [label], buckets: [...buckets], registers: [registry] })
  for (const value of cases) histogram.zero({ [label]: value })
  return {
    show(family) {
      const shape = { name: family.name, help: family.help, labelNames: [...family.labels], registers: [registry] }
      if (family.kind === 'counter')
        new Counter({
          ...shape,
          async collect() {
            const readings = await family.read()
            this.reset()
            for (const { labels, value } of readings) this.inc({ ...labels }, value)
          },
        })
      else
        new Gauge({
          ...shape,
          async collect() {
            const readings = await family.read()
            this.reset()
            for (const { labels, value } of readings) this.set({ ...labels }, value)
          },
        })
    },
    observe: (labelValue, value) => histogram.observe({ [label]: labelValue }, value),
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}

import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** A value of a metric, with the values of its labels. */
export interface Reading {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * A counter or gauge. Prometheus scrapes call `read` for its values. `name` includes prefix and suffix; `labels` are
 * the names of its labels.
 */
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
  /** Every value that the label can have. Each value has a time series from the start. */
  readonly cases: readonly string[]
  /** Upper bounds of the buckets, in the unit of the observations. */
  readonly buckets: readonly number[]
}

/** The answer to a request for `/metrics`. */
export interface Exposed {
  readonly contentType: string
  readonly text: string
}

/** Exposes metrics in the Prometheus text format. */
export interface Exposition {
  show(family: Family): void
  /** Adds an observation to the histogram, with `labelValue` as the value of its label. */
  observe(labelValue: string, value: number): void
  expose(): Promise<Exposed>
}

/**
 * Creates an exposition with its own registry. Import this file only when needed: loading `prom-client` takes 20 ms.
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

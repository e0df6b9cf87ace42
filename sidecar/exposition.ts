import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** A number with the labels that tell it from its neighbours. */
export interface Reading {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Numbers of one name, read whenever they are asked for. `name` is whole, `labels` are the names of what tells them
 * apart.
 */
export interface Family {
  readonly kind: 'counter' | 'gauge'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: () => readonly Reading[] | Promise<readonly Reading[]>
}

/** Observations of one name, told apart by one label. */
export interface Distribution {
  readonly name: string
  readonly help: string
  readonly label: string
  /** Every value of the label: all are shown from the start. */
  readonly cases: readonly string[]
  /** Upper bounds, in the unit of the observations. */
  readonly buckets: readonly number[]
}

/** What `/metrics` answers. */
export interface Exposed {
  readonly contentType: string
  readonly text: string
}

/** Shows what it was given in the Prometheus text format. */
export interface Exposition {
  show(family: Family): void
  /** `which`: the value of the distribution's label. */
  observe(which: string, value: number): void
  expose(): Promise<Exposed>
}

/** A registry of its own; nothing is shared between two in one process. Loading this file takes some 20 ms. */
export function createExposition({ name, help, label, cases, buckets }: Distribution): Exposition {
  const registry = new Registry()
  const histogram = new Histogram({ name, help, labelNames: [label], buckets: [...buckets], registers: [registry] })
  for (const one of cases) histogram.zero({ [label]: one })
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
    observe: (which, value) => histogram.observe({ [label]: which }, value),
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}

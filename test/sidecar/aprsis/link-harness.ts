import { passcodeOf } from '../../../fixtures/aprsis/passcode.ts'
import { type AprsIsOptions, type AprsIsServer, startAprsIs } from '../../../fixtures/aprsis/server.ts'
import { Link, type LinkParts } from '../../../sidecar/aprsis/link.ts'
import type { AprsisSettings } from '../../../sidecar/config/settings.ts'
import { createLog } from '../../../sidecar/log.ts'
import type { StationKey } from '../../../sidecar/messages/store.ts'
import { createMetrics, type Metrics } from '../../../sidecar/metrics.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { MemoryNetwork } from '../../support/memory-network.ts'
import { settingsOf } from '../../support/read-settings.ts'

export const CALL = 'N0CALL-10'

type Receive = Parameters<Link['open']>[0]

/** A link to the fixture server, in memory and on one fake clock. Records all log lines and received lines. */
export class LinkHarness {
  readonly clock: FakeClock
  readonly network: MemoryNetwork
  readonly logged: Readonly<Record<string, unknown>>[] = []
  readonly lines: string[] = []
  readonly metrics: Metrics = createMetrics()
  stations = new Set<StationKey>()
  server!: AprsIsServer
  link!: Link
  #heard: (() => void)[] = []
  // Counts over all harnesses, because a server drops messages that equal those of another harness.
  static #messages = 0

  constructor(clock = new FakeClock(), network = new MemoryNetwork()) {
    this.clock = clock
    this.network = network
  }

  async startServer(options: AprsIsOptions = {}): Promise<void> {
    this.server = await startAprsIs({ clock: this.clock, listen: this.network.listen, ...options })
  }

  connect(
    settings: Partial<AprsisSettings> = {},
    overrides: Partial<LinkParts> = {},
    receive: Receive = async (lines) => this.take(lines),
  ): void {
    const { port } = this.server
    const write = (line: string) => {
      this.logged.push(JSON.parse(line))
      this.#tell()
    }
    const { aprsis } = settingsOf({
      aprsis: { host: 'aprsis.test', port, callsign: CALL, passcode: passcodeOf(CALL), ...settings },
    })
    this.link = new Link({
      connect: this.network.connect,
      settings: aprsis,
      stations: () => this.stations,
      clock: this.clock,
      log: createLog('debug', { write }),
      metrics: this.metrics,
      random: () => 0,
      ...overrides,
    })
    this.link.onStatus(() => this.#tell())
    this.link.open(receive)
  }

  /** Connects for these stations, and resolves once it hears them. */
  async start(stations: Iterable<StationKey>, ...options: Parameters<LinkHarness['connect']>): Promise<void> {
    this.stations = new Set(stations)
    this.connect(...options)
    await this.ready()
  }

  take(lines: readonly string[]): void {
    this.lines.push(...lines)
    this.#tell()
  }

  async close(): Promise<void> {
    await this.link?.close()
    await this.server.close()
  }

  /** Resolves once `holds` returns true. Calls it again after each event of the link or the server. */
  async until(holds: () => boolean): Promise<void> {
    const names = ['login', 'filter', 'packet', 'disconnect'] as const
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#heard.push(resolve)
        for (const name of names) this.server.events.once(name, () => resolve())
      })
    }
  }

  async ready(): Promise<void> {
    await this.until(() => this.link.ready())
  }

  /** Changes the registry and lets the debounce time pass. */
  async change(stations: Iterable<StationKey>): Promise<void> {
    this.stations = new Set(stations)
    this.link.refilter()
    await this.clock.advance(2000)
  }

  /** One message to each of `stations`, and the texts of those. */
  send(stations: Iterable<StationKey>): string[] {
    return [...stations].map((station) => {
      LinkHarness.#messages += 1
      const text = `message ${LinkHarness.#messages} to ${station}`
      this.server.inject(`AA1AA>APRS,TCPIP*,qAC,T2ELSE::${station.padEnd(9)}:${text}`)
      return text
    })
  }

  has(text: string): boolean {
    return this.lines.some((line) => line.endsWith(`:${text}`))
  }

  /** Sends a message to each of `stations` and waits until all arrived. */
  async reaches(stations: Iterable<StationKey>): Promise<void> {
    const missing = new Set(this.send(stations))
    await this.until(() => {
      for (const line of this.lines) missing.delete(line.slice(line.lastIndexOf(':') + 1))
      return missing.size === 0
    })
  }

  filters(): string[] {
    return this.server.clients().map(({ filter }) => filter)
  }

  events(name: string): LinkHarness['logged'] {
    return this.logged.filter(({ event }) => event === name)
  }

  #tell(): void {
    const heard = this.#heard
    this.#heard = []
    for (const resolve of heard) resolve()
  }
}

/** Distinct station keys of eight characters. */
export function stationKeys(count: number, from = 0): StationKey[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index
    const letters = [17_576, 676, 26, 1].map((place) => String.fromCharCode(65 + (Math.floor(number / place) % 26)))
    return `OE${number % 10}${letters.join('')}1`
  })
}

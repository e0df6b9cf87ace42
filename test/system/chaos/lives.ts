import { expect } from 'chai'
import type { Fetch } from '../../../sidecar/client/index.ts'
import { type LogLine, type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts'
import type { Happenings } from './happenings.ts'
import type { ClockPlan } from './plan.ts'

const START_LIMIT_MS = 60_000
const METRICS_LIMIT_MS = 5000

/** Runs sidecar processes on the same files, one after the other. */
export class Lives {
  count = 0
  /** Stored messages, summed over all processes. Each process was asked before it ended. */
  counted = 0
  #process: SidecarProcess | undefined
  #ending = false
  #url: string | undefined
  #adminUrl: string | undefined
  readonly #faultyLines: LogLine[] = []
  readonly #config: string
  readonly #clocks: readonly ClockPlan[]
  readonly #happenings: Happenings

  constructor(config: string, clocks: readonly ClockPlan[], happenings: Happenings) {
    this.#config = config
    this.#clocks = clocks
    this.#happenings = happenings
  }

  async start(): Promise<void> {
    const clock = this.#clocks[this.count % this.#clocks.length]
    this.count += 1
    const sidecar = startSidecarProcess(['--config', this.#config], clock && { NODE_OPTIONS: clockOption(clock) })
    this.#process = sidecar
    void sidecar.ended.then(({ outcome, stderr }) => {
      if (this.#process === sidecar && !this.#ending)
        this.#happenings.blame(`the sidecar ended by itself with ${outcome}: ${stderr}`)
    })
    const listening = await within(sidecar.logged('listening'), START_LIMIT_MS, 'the sidecar started')
    this.#url = String(listening.url)
    this.#adminUrl = String(listening.adminUrl)
    this.#happenings.tell()
  }

  /** Resolves when the process is gone. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = this.#process
    if (!ending) return
    this.#ending = true
    ending.kill(signal)
    const { outcome, stderr } = await within(ending.ended, START_LIMIT_MS, 'the sidecar ended')
    this.#process = undefined
    this.#ending = false
    this.#url = undefined
    expect({ outcome, stderr }).to.deep.equal({ outcome: signal === 'SIGTERM' ? 0 : 'SIGKILL', stderr: '' })
    this.#faultyLines.push(...ending.lines.filter(isFault))
    this.#happenings.tell()
  }

  /** Kills the process if it still runs. */
  async abandon(): Promise<void> {
    const running = this.#process
    this.#process = undefined
    running?.kill('SIGKILL')
    await running?.ended
  }

  /** Error lines of all processes, except those of faults that the test causes. */
  get faultyLines(): readonly LogLine[] {
    return [...this.#faultyLines, ...(this.#process?.lines.filter(isFault) ?? [])]
  }

  /** Sends a request to the process that runs now. */
  readonly fetch: Fetch = async (address, init) => {
    if (!this.#url) throw new Error('It is down.')
    return fetch(this.#url + new URL(address).pathname, init)
  }

  /** Asks the process how many messages it has stored, before it ends. */
  async countStored(): Promise<void> {
    try {
      const answer = await fetch(`${this.#adminUrl}/metrics`, { signal: AbortSignal.timeout(METRICS_LIMIT_MS) })
      const [, value] = /^mesh_companion_messages_stored_total (\d+)$/m.exec(await answer.text()) ?? []
      this.counted += Number(value)
    } catch {
      // The process is down already, so its messages are not counted.
    }
  }
}

/**
 * Returns a Node.js option that sets the process's clock behind the machine's by `behindMs`, and two seconds later by
 * `laterBehindMs`.
 */
function clockOption({ behindMs, laterBehindMs }: ClockPlan): string {
  const code = `const now=Date.now;Date.now=()=>now()-(performance.now()<2000?${behindMs}:${laterBehindMs})`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

/**
 * Events that the test causes on purpose: unverified logins, and access tokens that are revoked twice within seconds.
 */
const EXPLAINED = new Set<unknown>(['upstream-unverified', 'push-unauthorized'])

function isFault({ level, event }: LogLine): boolean {
  return level === 'error' && !EXPLAINED.has(event)
}

async function within<T>(promise: Promise<T>, limitMs: number, task: string): Promise<T> {
  let deadline: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    deadline = setTimeout(() => reject(new Error(`Within ${limitMs} ms it did not happen that ${task}.`)), limitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(deadline)
  }
}

import { expect } from 'chai'
import { type Calls, createCalls } from '../../../../sidecar/client/index.ts'
import {
  type LogLine,
  type SidecarFolder,
  type SidecarProcess,
  startSidecarProcess,
} from '../../../support/sidecar-process.ts'
import type { Happenings } from '../happenings.ts'
import type { Life } from '../pushes.ts'
import type { Site } from './site.ts'

const ANSWER_LIMIT_MS = 4000

/** One of the sidecars that share a database: a process, started again under its name each time that it was killed. */
export class Instance {
  readonly name: string
  readonly site: Site
  life: Life = { killed: false }
  frozen = false
  /** Elapsed time of the last thaw, in milliseconds. Initially, there was none. */
  thawedAt = Number.NEGATIVE_INFINITY
  /** Entry file of another version, which the next start uses. */
  main: string | undefined
  readonly #file: string
  readonly #happenings: Happenings
  readonly #errors: LogLine[] = []
  #process: SidecarProcess | undefined
  #url: string | undefined

  static async open(
    parts: { readonly name: string; readonly site: Site; readonly happenings: Happenings },
    folder: SidecarFolder,
    config: object,
  ): Promise<Instance> {
    return new Instance(parts, await folder.configure(config))
  }

  private constructor(
    { name, site, happenings }: { readonly name: string; readonly site: Site; readonly happenings: Happenings },
    file: string,
  ) {
    this.name = name
    this.site = site
    this.#file = file
    this.#happenings = happenings
  }

  /** Whether the instance serves requests and is not frozen. */
  get isAwake(): boolean {
    return this.#url !== undefined && !this.frozen
  }

  /** Resolves once it serves. */
  async start(): Promise<void> {
    const sidecar = startSidecarProcess(['--config', this.#file], {}, this.main)
    this.#process = sidecar
    this.life = { killed: false }
    void sidecar.ended.then(({ outcome, stderr }) => {
      this.#errors.push(...sidecar.lines.filter(({ level }) => level === 'error'))
      if (this.#process === sidecar)
        this.#happenings.blame(
          `${this.name} ended by itself with ${outcome}: ${stderr}${JSON.stringify(sidecar.lines.at(-1))}`,
        )
    })
    this.#url = await sidecar.url()
    this.#happenings.tell()
  }

  /** `kill -9`; resolves when the process is gone. */
  async kill(): Promise<void> {
    const killed = this.#process
    if (!killed) return
    this.#process = undefined
    this.#url = undefined
    this.life.killed = true
    killed.kill('SIGKILL')
    await killed.ended
    this.#happenings.tell()
  }

  /** Suspends the process with SIGSTOP. Its connections stay open. */
  freeze(): void {
    this.frozen = true
    this.#process?.kill('SIGSTOP')
  }

  thaw(): void {
    this.frozen = false
    this.thawedAt = performance.now()
    this.#process?.kill('SIGCONT')
    this.#happenings.tell()
  }

  /** Stops the process with SIGTERM. Rejects if it does not end cleanly. */
  async stop(): Promise<void> {
    const stopping = this.#process
    this.#process = undefined
    this.#url = undefined
    stopping?.kill('SIGTERM')
    const ending = await stopping?.ended
    if (ending) expect(ending, this.name).to.deep.equal({ outcome: 0, stderr: '' })
  }

  /** Kills the process if it still runs. */
  async abandon(): Promise<void> {
    const running = this.#process
    this.#process = undefined
    running?.kill('SIGKILL')
    await running?.ended
  }

  /** Error lines of all lives. */
  get errors(): readonly LogLine[] {
    return [...this.#errors, ...(this.#process?.lines.filter(({ level }) => level === 'error') ?? [])]
  }

  /** Calls the API of the running process. Rejects with `unreachable` while the process is killed or frozen. */
  readonly calls: Calls = createCalls({
    baseUrl: 'http://instance.invalid',
    timeoutMs: ANSWER_LIMIT_MS,
    fetch: async (address, init) => {
      if (this.#url === undefined) throw new Error('It is down.')
      return fetch(this.#url + new URL(address).pathname, init)
    },
  })
}

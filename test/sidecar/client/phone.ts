import { passcodeOf } from '../../../sidecar/aprs/passcode.ts'
import {
  type AppStore,
  avatarsInMemory,
  type ClientOptions,
  type ClientState,
  createClient,
  type Fetch,
  type MessageRecord,
  type PhoneClient,
} from '../../../sidecar/client/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import type { RunningApi } from '../../support/running-api.ts'

/** What becomes of a request: it arrives, is lost on its way, or its answer is. */
export type Fate = 'arrives' | 'request_lost' | 'answer_lost'

/** What the app of one station keeps over its launches, and the network that it has. */
export class AppOfStation implements AppStore {
  readonly shown: MessageRecord[] = []
  readonly avatars = avatarsInMemory()
  readonly clock = new FakeClock()
  /** Path and body of every request. */
  readonly requests: { readonly path: string; readonly body: Readonly<Record<string, unknown>> }[] = []
  state: ClientState | undefined
  /** Of the next requests, in order; then all arrive. */
  fates: Fate[] = []
  /** Of the next saves, whether they work, in order; then all do. */
  saves: boolean[] = []
  onAir: (message: MessageRecord) => boolean = () => false
  readonly #api: RunningApi

  constructor(api: RunningApi) {
    this.#api = api
  }

  async load(): Promise<ClientState | undefined> {
    return this.state
  }

  async save(state: ClientState, messages: readonly MessageRecord[]): Promise<void> {
    if (this.saves.shift() === false) throw new Error('The disk is full.')
    this.state = state
    this.shown.push(...messages)
  }

  heard(message: MessageRecord): boolean {
    return this.onAir(message)
  }

  /** A launch of the app; nothing is sent yet. */
  launch(options: Partial<ClientOptions> = {}): Promise<PhoneClient> {
    const callsign = options.callsign ?? 'N0CALL'
    return createClient({
      baseUrl: this.#api.api.url,
      callsign,
      ssid: 7,
      passcode: passcodeOf(callsign),
      platform: 'android',
      pushToken: 'token',
      store: this,
      avatars: this.avatars,
      timers: this.clock,
      random: () => 0,
      fetch: this.#fetch,
      ...options,
    })
  }

  readonly #fetch: Fetch = async (address, init) => {
    this.requests.push({ path: new URL(address).pathname, body: JSON.parse(init.body ?? '{}') })
    const fate = this.fates.shift() ?? 'arrives'
    if (fate === 'request_lost') throw new TypeError('fetch failed')
    const answer = await fetch(address, init)
    if (fate === 'arrives') return answer
    await answer.text()
    throw new TypeError('fetch failed')
  }
}

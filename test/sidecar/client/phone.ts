import { passcodeOf } from '../../../sidecar/aprs/passcode.ts'
import {
  type AckRecord,
  type AnswerDetails,
  type AppStore,
  avatarsInMemory,
  ClientError,
  type ClientOptions,
  type ClientState,
  createClient,
  type Fetch,
  type MessageRecord,
  type PhoneClient,
} from '../../../sidecar/client/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type ApiOptions, type RunningApi, startApi } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'

/** The fate of a request: it arrives, is lost, or its answer is lost. */
export type Fate = 'arrives' | 'request_lost' | 'answer_lost'

/** The app of one station, with its network, and with storage that survives launches. */
export class AppOfStation implements AppStore {
  readonly shown: MessageRecord[] = []
  readonly acks: AckRecord[] = []
  readonly avatars = avatarsInMemory()
  readonly clock = new FakeClock()
  /** Path and body of every request. */
  readonly requests: { readonly path: string; readonly body: Readonly<Record<string, unknown>> }[] = []
  state: ClientState | undefined
  /** Fates of the next requests, in order; later ones arrive. */
  fates: Fate[] = []
  /** Whether each of the next saves succeeds, in order. Later saves succeed. */
  saves: boolean[] = []
  readonly #api: RunningApi

  constructor(api: RunningApi) {
    this.#api = api
  }

  async load(): Promise<ClientState | undefined> {
    return this.state
  }

  async save(state: ClientState, messages: readonly MessageRecord[], { acks }: AnswerDetails): Promise<void> {
    if (this.saves.shift() === false) throw new Error('The disk is full.')
    this.state = state
    this.shown.push(...messages)
    this.acks.push(...acks)
  }

  /** Launches the app. It sends nothing yet. */
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

/** Returns an app with its own API for each test. Call it inside a `describe`. */
export function phoneApp() {
  let api: RunningApi
  let app: AppOfStation
  const clients: PhoneClient[] = []
  beforeEach(async () => {
    api = await startApi()
    app = new AppOfStation(api)
  })
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close()
    await api.close()
  })

  async function launch(options: Parameters<AppOfStation['launch']>[0] = {}) {
    const client = await app.launch(options)
    clients.push(client)
    return client
  }
  async function launched(options: Parameters<AppOfStation['launch']>[0] = {}) {
    const client = await launch(options)
    await client.start()
    return client
  }
  const receive = (text: string, from = 'N1CALL-7', seqId = '') =>
    append(api.store, message(text, { from, to: 'N0CALL-7', seqId }))
  const texts = () => app.shown.map(({ text }) => text)
  const paths = () => app.requests.map(({ path }) => path.slice('/v1/'.length))
  const push = (members: object = {}) => ({
    ...{ fromCall: 'N1CALL-7', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
    ...members,
  })
  const codeOf = async (call: Promise<unknown>) =>
    call.then(
      () => 'none',
      (error: unknown) => (error instanceof ClientError ? error.code : String(error)),
    )
  /** Waits for a call, and repeatedly reports meanwhile that the network is back. */
  async function settled(client: PhoneClient, call: Promise<unknown>): Promise<void> {
    let done = false
    const end = codeOf(call).finally(() => {
      done = true
    })
    while (!done) {
      client.networkChanged()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await end
  }

  return {
    launch,
    launched,
    receive,
    texts,
    asked: paths,
    push,
    codeOf,
    settled,
    get api() {
      return api
    },
    get app() {
      return app
    },
    /** Replaces the API, and starts with a new app. */
    async restart(options: ApiOptions) {
      await api.close()
      api = await startApi(options)
      app = new AppOfStation(api)
    },
    newApp() {
      app = new AppOfStation(api)
    },
  }
}

import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { startSidecar } from '../../sidecar/compose.ts'
import { createLog, passcodeOf, type Sidecar } from '../../sidecar/index.ts'
import { FakeClock } from './fake-clock.ts'
import { createFolder } from './file-folder.ts'
import { MemoryGateway } from './memory-gateway.ts'
import { MemoryNetwork } from './memory-network.ts'
import { settingsOf } from './read-settings.ts'
import { callAt, claim, type JsonBody, registration } from './running-api.ts'

/** The login callsign of the sidecar. */
const LOGIN = 'N0CALL-10'

const COALESCE_MS = 2000
const DEBOUNCE_MS = 2000
/** Time after which the network passes an identical packet again, and the sidecar sends an identical ack again. */
export const RETRANSMISSION_MS = 31_000

const MARKER = 'MARK-7'

interface Answer {
  readonly status: number
  readonly body: JsonBody
}

/** A message in the answer to a sync, without its time. */
type Shown = Readonly<Record<string, unknown>>

/**
 * A whole sidecar with an APRS-IS server and two push gateways in memory. Tests use it only from outside: through
 * packets, acks, pushes and the API. The sidecar and the APRS-IS server have the same clock, which the test controls.
 */
export interface WholeSidecar {
  readonly upstream: AprsIsServer
  readonly fcm: MemoryGateway
  readonly apns: MemoryGateway
  readonly clock: FakeClock
  readonly sidecar: Sidecar
  /** The log lines of the sidecar, including level debug. */
  readonly logged: readonly string[]
  post(path: string, body: object): Promise<Answer>
  /**
   * Registers a station, with additional `members` in the request. Resolves once a filter at the APRS-IS server
   * contains it.
   */
  register(callsign: string, members?: object): Promise<Answer>
  /** Returns the stored messages of the station `callsign` with SSID 7. */
  messages(callsign: string): Promise<readonly Shown[]>
  /** Sends a message to the station `to` from the network. Resolves once the sidecar has processed it. */
  receive(from: string, to: string, field: string | Buffer): Promise<void>
  /** Returns the ack lines that the sidecar has sent so far. */
  acks(): readonly string[]
  /** Lets the coalescing window end, in which messages are collected for one push. */
  endWindow(): Promise<void>
  /** Returns the value of a counter on the operator's port, summed over its labels. `name` has no prefix and suffix. */
  counter(name: string): Promise<number>
  close(): Promise<void>
}

export async function startWholeSidecar(): Promise<WholeSidecar> {
  const clock = new FakeClock(Date.now())
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (let next = closers.pop(); next; next = closers.pop()) await next()
  }
  const logged: string[] = []
  const closing = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    closers.push(() => part.close())
    return part
  }
  try {
    const folder = await createFolder('whole-sidecar')
    closers.push(folder.remove)
    const network = new MemoryNetwork()
    const upstream = closing(await startAprsIs({ clock, listen: network.listen }))
    const [fcm, apns] = [new MemoryGateway(), new MemoryGateway()]
    const whole = {
      listen: { port: 0 },
      admin: { port: 0 },
      database: 'sidecar.sqlite',
      rateLimit: { max: 100_000, newStationsPerHour: 100_000, connectionsPerAddress: 1000 },
      push: { coalesceMs: COALESCE_MS },
      aprsis: {
        host: upstream.host,
        port: upstream.port,
        callsign: LOGIN,
        passcode: passcodeOf(LOGIN),
        filterDebounceMs: DEBOUNCE_MS,
      },
    }
    const sidecar = closing(
      await startSidecar(
        settingsOf(whole, folder.path),
        createLog('debug', { write: (line) => void logged.push(line) }),
        clock,
        { connect: network.connect, openGateways: () => ({ android: fcm, ios: apns }) },
      ),
    )
    return {
      ...outsideOf({ upstream, clock, sidecar }),
      upstream,
      fcm,
      apns,
      clock,
      sidecar,
      logged,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function outsideOf({ upstream, clock, sidecar }: Pick<WholeSidecar, 'upstream' | 'clock' | 'sidecar'>) {
  let marks = 0

  const post = (path: string, body: object): Promise<Answer> => callAt(sidecar.url + path, body)

  const isAskedFor = (key: string) => upstream.clients().some(({ filter }) => `${filter}/`.includes(`/${key}/`))

  async function register(callsign: string, members: object = {}): Promise<Answer> {
    const answer = await post('/v1/register', registration(callsign, members))
    await upstream.until(() => upstream.clients().length > 0)
    await clock.advance(DEBOUNCE_MS)
    await upstream.until(() => isAskedFor(`${callsign}-7`))
    return answer
  }

  /** Lines are processed in order. Once a marker message is acknowledged, the message before it has been processed. */
  async function receive(from: string, to: string, field: string | Buffer): Promise<void> {
    if (!isAskedFor(MARKER)) await register('MARK', { ackMessages: true, platform: 'ios', pushToken: 'f'.repeat(64) })
    upstream.inject(Buffer.concat([Buffer.from(`${from}>APRS,TCPIP*::${to.padEnd(9)}:`), Buffer.from(field)]))
    marks += 1
    const [sender, number] = [`M${marks}`, String(marks)]
    upstream.inject(`${sender}>APRS,TCPIP*::${MARKER.padEnd(9)}:mark{${number}`)
    await upstream.waitFor(({ line }) => line === `${MARKER}>APRS,TCPIP*::${sender.padEnd(9)}:ack${number}`)
  }

  return {
    post,
    register,
    async messages(callsign: string) {
      const { body } = await post('/v1/sync', { ...claim(callsign), since: 0 })
      return body.messages.map(({ time: _, ...rest }) => rest)
    },
    receive,
    acks: () => upstream.received.map(({ line }) => line).filter((line) => !line.startsWith(`${MARKER}>`)),
    endWindow: () => clock.advance(COALESCE_MS),
    async counter(name: string) {
      const metrics = await (await fetch(`${sidecar.adminUrl}/metrics`)).text()
      const cases = [...metrics.matchAll(new RegExp(`^mesh_companion_${name}_total(?:\\{.*\\})? (\\d+)$`, 'gm'))]
      return cases.reduce((sum, [, value]) => sum + Number(value), 0)
    },
  }
}

import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { pngOfLength } from '../../support/png-of-length.ts'
import { type ApiOptions, claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'

const STATIONS = Array.from({ length: 50 }, (_, index) => `N${index + 10}CALL-7`)
const image = pngOfLength(24_000)
/** How often the server looks for answers that are not read. */
const SWEEP_MS = 1000

/** A call of a client that a trusted proxy names. */
function call(client: string, stations: readonly string[], ...headers: readonly string[]): string {
  const body = JSON.stringify({ ...claim('N10CALL'), stations })
  const lines = ['POST /v1/avatars HTTP/1.1', 'Host: a', 'Content-Type: application/json']
  return [...lines, `Content-Length: ${body.length}`, `X-Forwarded-For: ${client}`, ...headers, '', body].join('\r\n')
}

describe('The avatars call for many stations', () => {
  let api: RunningApi
  afterEach(() => api.close())

  async function start(options: ApiOptions = {}): Promise<void> {
    api = await startApi({ listen: { trustProxy: true }, ...options })
    for (const key of STATIONS) {
      const [callsign = ''] = key.split('-')
      const upload = { avatarUpdate: true, avatarImage: image, avatarHash: avatarHash('', image) }
      expect((await api.post('/v1/register', registration(callsign, upload))).status).to.equal(200)
    }
  }

  const statuses = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

  it('an avatars call returns the same avatars with and without gzip, cached or not', async () => {
    await start()
    const ask = (headers = {}) => api.post('/v1/avatars', { ...claim('N10CALL'), stations: STATIONS }, headers)
    for (let times = 0; times < 2; times += 1) {
      const { body } = await ask()
      expect(Object.keys(body.avatars)).to.deep.equal(STATIONS)
      const { bytes } = await ask({ 'Accept-Encoding': 'gzip' })
      const { avatars } = JSON.parse(gunzipSync(bytes).toString())
      expect(avatars).to.deep.equal(body.avatars)
    }
  })

  // Shows: sidecar C13.17.
  it('the rate limit counts an avatars call as a request per 10 stations, rounded up', async () => {
    await start({ rateLimit: { max: 60 } })
    const fetchAvatars = (count: number) => api.raw(call('192.0.2.1', STATIONS.slice(0, count), 'Connection: close'))
    for (let times = 0; times < 11; times += 1) expect(statuses(await fetchAvatars(50))).to.deep.equal([200])
    expect(statuses(await fetchAvatars(31))).to.deep.equal([200])
    expect(statuses(await fetchAvatars(11))).to.deep.equal([429])
  })

  // Shows: sidecar C13.17.
  it('only a client with over 8 MB of unread answers gets the error overloaded', async () => {
    await start()
    const calls = Array<string>(10).fill(call('192.0.2.1', STATIONS))
    const last = call('192.0.2.2', STATIONS, 'Connection: close')
    const answers = await api.raw([...calls, last].join(''))
    expect(statuses(answers)).to.deep.equal([...Array(6).fill(200), ...Array(4).fill(503), 200])
    expect(answers.match(/^Retry-After: \d+\r$/gm)).to.have.length(4)
    expect(answers.match(/"error":"overloaded"/g)).to.have.length(4)
  })

  it('a client can request avatars again after it has read its earlier answers', async () => {
    await start()
    const calls = [
      ...Array<string>(5).fill(call('192.0.2.1', STATIONS)),
      call('192.0.2.1', STATIONS, 'Connection: close'),
    ]
    for (let times = 0; times < 3; times += 1)
      expect(statuses(await api.raw(calls.join('')))).to.deep.equal(Array(6).fill(200))
  })

  // Shows: sidecar C13.18.
  it('closes the connection of a client that reads its answers too slowly', async () => {
    await start()
    const sockets: Socket[] = []
    // Listens for `close` from the start: a reset may reach a paused socket before it reads again.
    const ended: Promise<void>[] = []
    // An answer may wait for some turns and still be read. Only answers to a client with full buffers stay.
    const isStuck = async () => {
      for (let turns = 0; turns < 300; turns += 1) {
        if (api.clock.waiting(SWEEP_MS) === 0) return false
        await turn()
      }
      return true
    }
    try {
      // Sends requests until the answers do not fit into the system's buffers, because the clients read nothing.
      while (!(await isStuck())) {
        const socket = connect(api.port, '127.0.0.1').pause()
        sockets.push(socket)
        ended.push(new Promise((resolve) => socket.once('close', () => resolve())))
        socket
          .on('error', () => {})
          .write(
            Array<string>(6)
              .fill(call(`192.0.2.${sockets.length}`, STATIONS))
              .join(''),
          )
        const answered = sockets.length * 6
        while (api.metrics.value('api_requests') < STATIONS.length + answered) await turn()
        for (let turns = 0; turns < 500 && api.clock.waiting(SWEEP_MS) === 0; turns += 1) await turn()
      }
      await api.clock.advance(200_000)
      expect(api.metrics.value('api_dropped')).to.be.above(0)
      for (const socket of sockets) socket.resume()
      await Promise.race(ended)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
})

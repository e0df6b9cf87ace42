import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect } from 'chai'
import { listenHttp } from '../../../../sidecar/api/http-listener.ts'
import { limitConnections } from '../../../../sidecar/api/requests/connection-limit.ts'
import type { ListenSettings } from '../../../../sidecar/config/settings.ts'
import { type RunningApi, startApi } from '../../../support/running-api.ts'
import { makeServerFiles, type ServerFiles } from '../../../support/server-files.ts'

const LIMIT = 3
const REQUEST = 'POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'

describe('The limit on connections per address', () => {
  let files: ServerFiles
  let api: RunningApi
  let sockets: Socket[]
  before(async () => {
    files = await makeServerFiles('sidecar-connections')
  })
  after(() => files.remove())
  beforeEach(() => {
    sockets = []
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await api.close()
  })

  const start = async (isSecured = false, trustProxy: ListenSettings['trustProxy'] = false) => {
    const { certFile, keyFile } = files
    const listen = { trustProxy, ...(isSecured && { certFile, keyFile }) }
    api = await startApi({ listen, rateLimit: { connectionsPerAddress: LIMIT } })
  }

  /** Opens a connection from this local address, and sends nothing. */
  async function open(localAddress = '127.0.0.1'): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: api.port, localAddress }).on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }

  /**
   * Sends a request on this connection. Resolves with the answer, or with '' if the connection is closed without one.
   */
  async function answerOn(socket: Socket): Promise<string> {
    let answer = ''
    const answered = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        answer += chunk
        resolve()
      })
      socket.on('close', () => resolve())
    })
    socket.write(REQUEST)
    await answered
    return answer
  }

  const secured = (socket: Socket) => connectTls({ socket, rejectUnauthorized: false }).on('error', () => {})
  const over = async () => (await answerOn(await open())) === ''

  // Shows: sidecar C13.8.
  it('answers no connection over the limit per address, but serves other addresses', async () => {
    await start()
    for (let count = 0; count < LIMIT; count++) await open()
    expect(await over()).to.equal(true)
    expect(api.metrics.value('api_connections_dropped')).to.equal(1)
    expect(await answerOn(await open('127.0.0.2'))).to.match(/^HTTP\/1.1 415 /)
    expect(api.metrics.value('api_connections_dropped')).to.equal(1)
  })

  // Shows: sidecar C13.9.
  it('a TLS connection counts towards the limit from its start, before the handshake', async () => {
    await start(true)
    for (let count = 0; count < LIMIT; count++) await open()
    expect(await answerOn(secured(await open()))).to.equal('')
    expect(api.metrics.value('api_connections_dropped')).to.equal(1)
    expect(await answerOn(secured(await open('127.0.0.2')))).to.match(/^HTTP\/1.1 415 /)
  })

  // Shows: sidecar C13.8.
  it('closing a connection allows a new one from the same address', async () => {
    await start(true)
    for (let round = 0; round < 2 * LIMIT; round++) {
      let answer = ''
      while (answer === '') {
        const socket = secured(await open())
        answer = await answerOn(socket)
        socket.destroy()
      }
      expect(answer).to.match(/^HTTP\/1.1 415 /)
    }
  })

  // Shows: sidecar C13.10.
  it('the limit per address does not apply to connections of a trusted proxy', async () => {
    await start(false, ['127.0.0.1'])
    for (let count = 0; count < LIMIT; count++) await open()
    expect(await over()).to.equal(false)
  })

  it('counts each connection that the server refuses because of maxConnections', async () => {
    let dropped = 0
    const server = createServer()
    server.maxConnections = 1
    limitConnections(
      server,
      LIMIT,
      (peer) => peer,
      () => {
        dropped += 1
      },
    )
    const listener = await listenHttp(server, 'http', '127.0.0.1', 0)
    try {
      const port = Number(new URL(listener.url).port)
      await once(connect({ host: '127.0.0.1', port }), 'connect')
      const refused = connect({ host: '127.0.0.1', port }).on('error', () => {})
      await once(refused, 'close')
      expect(dropped).to.equal(1)
    } finally {
      await listener.close()
    }
  })
})

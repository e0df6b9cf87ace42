import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { createReceipts } from '../../../../sidecar/api/answers/receipts.ts'

describe('The receipt of an answer', () => {
  let server: Server
  let told: string[]
  let closing: boolean
  let ends: Promise<void>[]

  /** Answers every request, and writes down what becomes of the answers, by their paths. */
  beforeEach(async () => {
    told = []
    ends = []
    closing = false
    const receipts = createReceipts(() => closing)
    const open = new Map<Socket, number>()
    server = createServer((request, response) => {
      const path = request.url ?? ''
      const unanswered = open.get(request.socket) ?? 0
      receipts.asked(request.socket, unanswered > 0)
      open.set(request.socket, unanswered + 1)
      // At the end of a turn of the event loop, as the API does.
      setImmediate(() => {
        if (path === '/never') return
        response.end('answer')
        open.set(request.socket, (open.get(request.socket) ?? 0) - 1)
        receipts.watch(request.socket, response, {
          sent: () => told.push(`${path} sent`),
          lost: () => told.push(`${path} lost`),
        })
        server.emit('watched')
      })
    })
    server.on('connection', (socket) => ends.push(new Promise((resolve) => void socket.once('close', () => resolve()))))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const open = () => connect((server.address() as AddressInfo).port, '127.0.0.1')

  async function ask(client: Socket, path: string, ...headers: string[]): Promise<void> {
    client.write(`${[`GET ${path} HTTP/1.1`, 'Host: a', ...headers].join('\r\n')}\r\n\r\n`)
    await once(client, 'data')
  }

  /** The server's end of the newest connection is closed. */
  const closed = () => ends.at(-1)

  it('comes with the next request on the connection', async () => {
    const client = open()
    await ask(client, '/one')
    await ask(client, '/two')
    client.resetAndDestroy()
    await closed()
    expect(told).to.deep.equal(['/one sent', '/two sent', '/two lost'])
  })

  describe('of one who asks again before the answer is there', () => {
    const pipelined = (...paths: readonly string[]) =>
      paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join('')

    async function sent(...paths: readonly string[]): Promise<void> {
      while (!paths.every((path) => told.includes(`${path} sent`))) await once(server, 'watched')
    }

    it('does not come for any of the answers when the connection breaks', async () => {
      const client = open()
      client.write(pipelined('/one', '/two', '/three'))
      await sent('/one', '/two', '/three')
      client.resetAndDestroy()
      await closed()
      expect(told.slice(3).sort()).to.deep.equal(['/one lost', '/three lost', '/two lost'])
    })

    it('does not come with later requests, nor when the client takes leave', async () => {
      const client = open().resume()
      client.write(pipelined('/one', '/two'))
      await sent('/one', '/two')
      await ask(client, '/three')
      client.end()
      await closed()
      expect(told.slice(3).sort()).to.deep.equal(['/one lost', '/three lost', '/two lost'])
    })

    it('is given up for the oldest of many answers at once, so that there is an end to what is kept', async () => {
      const paths = Array.from({ length: 33 }, (_, index) => `/${index}`)
      const client = open().resume()
      client.write(pipelined(...paths))
      await sent(...paths)
      expect(told.filter((line) => line.endsWith('lost'))).to.deep.equal(['/0 lost'])
    })
  })

  it('comes when the client takes leave', async () => {
    const client = open()
    await ask(client, '/one')
    client.end()
    await closed()
    expect(told).to.deep.equal(['/one sent'])
  })

  it('does not come when the client took leave before the answer left', async () => {
    const client = open().resume()
    client.end('GET /one HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(client, 'close')
    await closed()
    expect(told).to.deep.equal(['/one sent', '/one lost'])
  })

  it('does not come for an answer that waits for an earlier one, which the client gave up waiting for', async () => {
    const client = open().resume()
    const watched = once(server, 'watched')
    client.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\nGET /one HTTP/1.1\r\nHost: a\r\n\r\n')
    await watched
    client.end()
    await once(client, 'close')
    await closed()
    expect(told).to.deep.equal([])
  })

  it('does not come when the client took leave before the answer left, while the server closes', async () => {
    closing = true
    const client = open().resume()
    client.end('GET /one HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(client, 'close')
    await closed()
    expect(told).to.deep.equal(['/one sent', '/one lost'])
  })

  it('does not come when the connection breaks while the server closes', async () => {
    const client = open()
    await ask(client, '/one')
    closing = true
    client.resetAndDestroy()
    await closed()
    expect(told).to.deep.equal(['/one sent', '/one lost'])
  })

  it('comes when we end the connection behind it, as the client wished', async () => {
    const client = open()
    await ask(client, '/one', 'Connection: close')
    await closed()
    expect(told).to.deep.equal(['/one sent'])
  })

  it('does not come when the connection breaks', async () => {
    const client = open()
    await ask(client, '/one')
    client.resetAndDestroy()
    await closed()
    expect(told).to.deep.equal(['/one sent', '/one lost'])
  })

  it('does not come when the client gives no sign until its connection is given up', async () => {
    server.keepAliveTimeout = 10
    const client = open()
    await ask(client, '/one')
    await closed()
    expect(told).to.deep.equal(['/one sent', '/one lost'])
  })

  it('is not waited for when the server closes', async () => {
    const client = open()
    await ask(client, '/one')
    closing = true
    server.closeAllConnections()
    await closed()
    expect(told).to.deep.equal(['/one sent'])
    client.destroy()
  })
})

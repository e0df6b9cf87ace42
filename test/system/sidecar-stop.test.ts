import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { freshDatabase } from '../sidecar/store/postgres/shared-server.ts'
import { onLoopback } from '../support/on-loopback.ts'
import type { SidecarProcess } from '../support/sidecar-process.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'

describe('The sidecar after SIGTERM', () => {
  const sidecars = sidecarProcesses()
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** Takes connections and never answers. */
  async function silentServer() {
    const sockets = new Set<Socket>()
    const server: Server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}))
    })
    const { port, close } = await onLoopback(server)
    closing.push(close, () => {
      for (const socket of sockets) socket.destroy()
    })
    return { port, connected: once(server, 'connection') }
  }

  async function expectCleanEnd(sidecar: SidecarProcess): Promise<void> {
    sidecar.kill('SIGTERM')
    expect(await sidecar.ended).to.deep.equal({ outcome: 0, stderr: '' })
    expect(sidecar.lines.at(-1)?.event).to.equal('stopped')
  }

  // Shows: sidecar C6.2.
  it('the sidecar exits with 0 while a connection to the operator port is idle', async () => {
    const sidecar = sidecars.start(['--config', await sidecars.configure()])
    const { port, hostname } = new URL(await sidecar.adminUrl())
    const idle = connect(Number(port), hostname).on('error', () => {})
    closing.push(() => idle.destroy())
    await once(idle, 'connect')
    await expectCleanEnd(sidecar)
    expect(sidecar.lines.map(({ event }) => event)).to.not.include('close-failed')
  })

  // Shows: sidecar C6.2.
  for (const [servers, count] of [
    ['PostgreSQL does', 1],
    ['two named PostgreSQL servers do', 2],
  ] as const)
    it(`the sidecar exits with 0 if ${servers} not answer its start`, async () => {
      const silent = await Promise.all(Array.from({ length: count }, silentServer))
      const hosts = silent.map(({ port }) => `127.0.0.1:${port}`).join()
      const database = `postgres://mesh:secret@${hosts}/mesh`
      const sidecar = sidecars.start(['--config', await sidecars.configure({ database })])
      await Promise.all(silent.map(({ connected }) => connected))
      await expectCleanEnd(sidecar)
      expect(sidecar.lines.map(({ event }) => event)).to.not.include.members(['listening'])
    })

  // Shows: sidecar C6.2.
  it('the sidecar exits with 0 after PostgreSQL stopped answering', async function () {
    this.timeout(120_000)
    const database = new URL(await freshDatabase())
    const relay = await startTcpRelay(Number(database.port))
    closing.push(relay.close)
    database.port = String(relay.port)
    const sidecar = sidecars.start([
      '--config',
      await sidecars.configure({ database: String(database), instance: 'one' }),
    ])
    await sidecar.url()
    await sidecars.upstream.until(() => sidecars.upstream.clients().length === 1)
    relay.silence()
    await expectCleanEnd(sidecar)
  })

  // Shows: sidecar C6.2.
  it('the sidecar exits with 0 while APRS-IS does not answer', async () => {
    const silent = await silentServer()
    const aprsis = { host: '127.0.0.1', port: silent.port }
    const sidecar = sidecars.start(['--config', await sidecars.configure({ aprsis })])
    await silent.connected
    await sidecar.url()
    await expectCleanEnd(sidecar)
  })
})

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { freePort } from '../../../fixtures/free-port.ts'
import { until } from '../../support/until.ts'
import { INSTALL_LIMIT_MS } from './installation.ts'
import { laboratory } from './laboratory.ts'
import { type MeshOptions, type MeshSetup, setUpMesh } from './mesh-setup.ts'
import { type MongoStandIn, startMongoStandIn } from './mongo-stand-in.ts'
import { isSignedIn, thiefOf } from './session.ts'

/**
 * Starts servers that peer with each other, and one provider, before the tests of a block. Without a database, the
 * tests are skipped with a reason.
 *
 * @param ids ids of the servers. The first by name connects to the others
 * @param registered further metadata of the client
 */
export function usePeers(
  ids: readonly string[],
  given: MeshOptions | (() => Promise<MeshOptions>),
  registered = {},
): readonly MeshSetup[] {
  const all: MeshSetup[] = []
  let database: MongoStandIn | undefined

  before(async function () {
    this.timeout(INSTALL_LIMIT_MS + 400_000)
    const { installation, port } = await laboratory()
    // MeshCentral would install the driver into a shared folder.
    const hasDriver = existsSync(join(installation, 'node_modules/mongodb'))
    const started = hasDriver ? await startMongoStandIn() : 'the installation of MeshCentral has no mongodb@4.17.2'
    if (typeof started === 'string') {
      console.log(`    no peers: ${started}`)
      this.skip()
    }
    database = started
    const options = typeof given === 'function' ? await given() : given
    const ports = [port, ...(await Promise.all(ids.slice(1).map(() => freePort())))]
    const servers = Object.fromEntries(ids.map((id, index) => [id, { url: `wss://127.0.0.1:${ports[index]}/` }]))
    const settings = { mongoDb: started.url, mongoDbName: 'mesh', mongoDbChangeStream: true, ...options.settings }
    for (const [index, serverId] of ids.entries()) {
      const [first] = all
      const shared = first ? { sharedIdp: first.idp } : {}
      all.push(
        await setUpMesh({ ...options, settings, ...shared, peers: { serverId, servers }, port: ports[index] ?? 0 }),
      )
    }
    await registerPeers(all, registered)
  })
  after(async () => {
    for (const server of all.toReversed()) await server.close()
    await database?.close()
  })
  return all
}

/**
 * Waits until a peer knows a new account, which reaches it by the database's changes. Sends copies of the cookies,
 * because the peer would delete the cookies of an unknown user from the browser.
 */
export const knowsPerson = (peer: MeshSetup, browser: ScriptedBrowser): Promise<boolean> =>
  until('the peer to know the person', () => isSignedIn(peer, thiefOf(peer, browser)))

/** Registers the client for all peers. The restart of a peer registers the client for that peer only. */
export async function registerPeers(peers: readonly MeshSetup[], more = {}): Promise<void> {
  await peers[0]?.register({
    redirect_uris: peers.map(({ url }) => `${url}auth-oidc-callback`),
    post_logout_redirect_uris: peers.map(({ url }) => `${url}login`),
    ...more,
  })
}

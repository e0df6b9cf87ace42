import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { startLoggingProcess } from '../../support/logging-process.ts'
import { CLIENT } from '../../support/sign-in-setup.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import type { Instance } from './host-instance.ts'
import { openStores } from './stores.ts'

/** One process of the reference host. */
export interface HostProcess {
  readonly port: number
  kill(): Promise<void>
}

/**
 * Two processes of the reference host, which share their sessions, behind one address, and an IdP that knows them as
 * one client.
 */
export interface HostProcesses {
  readonly idp: Idp
  readonly balancer: Balancer
  readonly first: HostProcess
  readonly second: HostProcess
  close(): Promise<void>
}

/**
 * @param address of PostgreSQL or Redis
 * @param aheadMs how far the clock of the first one is ahead
 */
export async function startHostProcesses(address: string, aheadMs = 0): Promise<HostProcesses> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-several-'))
  const name = randomUUID()
  const balancer = await startBalancer()
  const idp = await startIdp()
  const config = {
    settings: {
      cert: '127.0.0.1',
      port: 0,
      sessionKey: 'the same everywhere',
      sqlite3: join(folder, 'accounts.sqlite'),
    },
    domains: {
      '': {
        authStrategies: {
          oidc: {
            issuer: idp.issuer,
            newAccounts: true,
            client: { ...CLIENT, redirect_uri: `${balancer.url}auth-oidc-callback` },
          },
        },
      },
    },
  }
  await idp.addClient({
    ...CLIENT,
    redirect_uris: [`${balancer.url}auth-oidc-callback`],
    post_logout_redirect_uris: [`${balancer.url}login`],
    backchannel_logout_uri: `${balancer.url}auth-oidc-backchannel-logout`,
    backchannel_logout_session_required: true,
  })
  // Creates the table of the session library here. If both processes created it at once, one would fail.
  const stores = await openStores(address, name)
  await new Promise((resolve) => stores.sessions.get('nobody', resolve))
  await stores.close()
  const first = await startProcess({ config, stores: address, name, aheadMs })
  const second = await startProcess({ config, stores: address, name, aheadMs: 0 })
  balancer.use(first.port, second.port)
  return {
    idp,
    balancer,
    first,
    second,
    async close() {
      await Promise.all([first.kill(), second.kill()])
      await balancer.close()
      await idp.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startProcess(instance: Instance): Promise<HostProcess> {
  const program = 'test/several/support/host-instance.ts'
  const { logged, kill, ended } = startLoggingProcess([program, JSON.stringify(instance)])
  const { port } = await logged('serving')
  return {
    port: Number(port),
    async kill() {
      kill('SIGKILL')
      await ended
    },
  }
}

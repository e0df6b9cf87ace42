import { join } from 'node:path'
import { KEY_ID, TEAM_ID } from '../../fixtures/push/apns/provider-token.ts'
import { writeCredentials } from '../support/credential-files.ts'
import { makeServerFiles, type ServerFiles } from '../support/server-files.ts'
import { startProgram } from './program.ts'
import type { PushService } from './push-gateway-server.ts'

/**
 * A gateway on loopback in its own process. It accepts everything: the fixtures' checks would distort the measurement.
 */
export type PushGateway = Awaited<ReturnType<typeof startPushGateway>>

export async function startPushGateway(service: PushService) {
  const certificates = await makeServerFiles('bench')
  const program = await startProgram<typeof import('./push-gateway-server.ts')>('push-gateway-server.ts')
  const port = await program.call('open', service, { cert: certificates.cert, key: certificates.key })
  return {
    ...program,
    port,
    /** CA of the gateway's certificate, in PEM. */
    ca: certificates.ca,
    /** The object `push` of a configuration for a sidecar that uses this gateway. */
    settings: { [service]: await settingsOf(service, certificates, port) },
    async close() {
      await program.close()
      await certificates.remove()
    },
  }
}

/** Returns the settings, with valid credentials that the gateway does not check. */
async function settingsOf(service: PushService, { folder, caFile }: ServerFiles, port: number): Promise<object> {
  await writeCredentials(folder, { serviceAccountFile: 'service-account.json', apnsKeyFile: 'signing-key.p8' })
  if (service === 'fcm')
    return { serviceAccountFile: join(folder, 'service-account.json'), endpoint: `https://127.0.0.1:${port}`, caFile }
  const account = { keyFile: join(folder, 'signing-key.p8'), keyId: KEY_ID, teamId: TEAM_ID, topic: 'org.example.aprs' }
  return { ...account, production: false, address: '127.0.0.1', port, caFile }
}

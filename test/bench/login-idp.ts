import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import type { Client } from './login-party.ts'

let idp: Idp | undefined

/** @returns the issuer of the IdP */
export async function open(latencyMs: number): Promise<string> {
  idp = await startIdp({ latencyMs })
  return idp.issuer
}

export async function addClient(client: Client, redirectUri: string): Promise<void> {
  await idp?.addClient({ ...client, redirect_uris: [redirectUri] })
}

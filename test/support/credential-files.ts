import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCertificates } from '../../fixtures/certificate.ts'

/** Names of the credential files that a configuration uses. Only the given ones are written. */
export interface CredentialNames {
  readonly certFile?: string
  readonly keyFile?: string
  readonly serviceAccountFile?: string
  readonly apnsKeyFile?: string
}

const PKCS8 = { type: 'pkcs8', format: 'pem' } as const

/** Writes valid credential files with these names into a folder. */
export async function writeCredentials(folder: string, names: CredentialNames): Promise<void> {
  const { cert, key } = (await makeCertificates()).server
  const private_key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(PKCS8)
  const account = { type: 'service_account', project_id: 'demo', client_email: 'a@b.test', private_key }
  const apnsKey = String(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(PKCS8))
  for (const [name, text] of [
    [names.certFile, cert],
    [names.keyFile, key],
    [names.serviceAccountFile, JSON.stringify(account)],
    [names.apnsKeyFile, apnsKey],
  ] as const)
    if (name !== undefined) await writeFile(join(folder, name), text)
}

import { readdir } from 'node:fs/promises'

/** The files in the configuration's folder that a new configuration can use. */
export interface FoundFiles {
  /** Whether the folder has a certificate with its key, under the names that certbot gives them. */
  readonly hasCertificate: boolean
  /** The key file of a service account, such as `firebase.json`. */
  readonly serviceAccount: string | undefined
  /** A signing key with the name that Apple gives it, such as `AuthKey_ABC1234567.p8`. */
  readonly signingKey: string | undefined
}

export const CERTIFICATE = { certFile: 'fullchain.pem', keyFile: 'privkey.pem' }

/** Returns the key id in the name of a signing key from Apple, or undefined. */
export function keyIdIn(name: string): string | undefined {
  return /AuthKey_([A-Z0-9]{10})\.p8$/.exec(name)?.[1]
}

/** Looks for usable files in a folder by their names. If several files of a kind match, returns none of them. */
export async function findFiles(folder: string): Promise<FoundFiles> {
  // A folder that does not exist yet has no files.
  const names = await readdir(folder).catch((): string[] => [])
  return {
    hasCertificate: Object.values(CERTIFICATE).every((name) => names.includes(name)),
    serviceAccount: only(names.filter(isServiceAccount)),
    signingKey: only(names.filter((name) => keyIdIn(name) !== undefined)),
  }
}

/** Whether a file is named like a key file from Firebase, or like the key file in our examples. */
function isServiceAccount(name: string): boolean {
  return name.endsWith('.json') && (name.startsWith('firebase') || name.includes('-firebase-adminsdk-'))
}

function only(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined
}

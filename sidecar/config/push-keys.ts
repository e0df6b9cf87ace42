import { createPrivateKey } from 'node:crypto'

/** As its key file describes it. */
export interface ServiceAccount {
  readonly projectId: string
  readonly clientEmail: string
  /** PEM. */
  readonly privateKey: string
}

/** The account in a key file's text. Throws where it is none, and quotes nothing of it. */
export function parseServiceAccount(text: string): ServiceAccount {
  try {
    const { type, project_id: projectId, client_email: clientEmail, private_key: privateKey } = JSON.parse(text)
    const areTexts = [projectId, clientEmail, privateKey].every((one) => typeof one === 'string' && one !== '')
    if (type === 'service_account' && areTexts && createPrivateKey(privateKey).asymmetricKeyType === 'rsa')
      return { projectId, clientEmail, privateKey }
  } catch {
    // Its message could quote the file.
  }
  throw new TypeError('This is no key file of a service account.')
}

/** The PEM text of the `.p8` key that Apple gave out. Throws where it is none, and quotes nothing of it. */
export function parseSigningKey(pem: string): string {
  try {
    if (createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1') return pem
  } catch {
    // Its message could quote the key.
  }
  throw new TypeError('This is no signing key for APNs.')
}

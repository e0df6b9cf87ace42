import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificates } from '../../fixtures/certificate.ts'

/** A certificate for loopback with its key, and the authority behind it, as PEM texts and as the files that a configuration names. */
export interface CertificateFiles {
  /** Where they are, and where more can be put until {@link CertificateFiles.remove}. */
  readonly folder: string
  readonly ca: string
  readonly caFile: string
  readonly cert: string
  readonly certFile: string
  readonly key: string
  readonly keyFile: string
  remove(): Promise<void>
}

export async function writeCertificates(): Promise<CertificateFiles> {
  const { ca, server } = await makeCertificates()
  const folder = await mkdtemp(join(tmpdir(), 'certificate-bench-'))
  const fileOf = async (name: string, text: string) => {
    const file = join(folder, name)
    await writeFile(file, text, { mode: 0o600 })
    return file
  }
  return {
    folder,
    ca: ca.cert,
    caFile: await fileOf('ca.pem', ca.cert),
    cert: server.cert,
    certFile: await fileOf('server.pem', server.cert),
    key: server.key,
    keyFile: await fileOf('server-key.pem', server.key),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificates } from '../../fixtures/certificate.ts'

/** A folder of one run, with a certificate for loopback: texts in PEM, and the files that a configuration names. */
export interface ServerFiles {
  readonly folder: string
  /** Of the authority behind it. */
  readonly ca: string
  readonly caFile: string
  readonly cert: string
  readonly certFile: string
  readonly key: string
  readonly keyFile: string
  /** Writes another file. @returns its path */
  write(name: string, text: string): Promise<string>
  remove(): Promise<void>
}

/** @param name what the folder's name begins with */
export async function makeServerFiles(name: string): Promise<ServerFiles> {
  const { ca, server } = await makeCertificates()
  const folder = await mkdtemp(join(tmpdir(), `${name}-`))
  const write = async (file: string, text: string) => {
    await writeFile(join(folder, file), text, { mode: 0o600 })
    return join(folder, file)
  }
  return {
    folder,
    ca: ca.cert,
    caFile: await write('ca.pem', ca.cert),
    ...server,
    certFile: await write('server.pem', server.cert),
    keyFile: await write('server-key.pem', server.key),
    write,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

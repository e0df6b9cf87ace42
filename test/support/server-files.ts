import { makeCertificates } from '../../fixtures/certificate.ts'
import { createFolder } from './file-folder.ts'

/** A folder of one run, with a certificate for loopback: texts in PEM, and the files that a configuration names. */
export type ServerFiles = Awaited<ReturnType<typeof makeServerFiles>>

/** @param name beginning of the folder's name @param names host names in the certificate. Default: loopback */
export async function makeServerFiles(name: string, names?: readonly string[]) {
  const { ca, server } = await makeCertificates(names ? { names } : {})
  const { path, write, remove } = await createFolder(name)
  return {
    folder: path,
    /** The certificate of the authority, in PEM. */
    ca: ca.cert,
    caFile: await write('ca.pem', ca.cert),
    ...server,
    certFile: await write('server.pem', server.cert),
    keyFile: await write('server-key.pem', server.key),
    /** Writes another file. @returns its path */
    write,
    remove,
  }
}

import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { ListenSettings } from '../config/settings.ts'

/** The HTTP server of the API, with its limits. It is not listening yet. */
export interface ApiServer {
  readonly server: Server
  readonly scheme: 'http' | 'https'
  /**
   * Reads certificate and key again, for new connections. If they are unusable, rejects and continues to use the old
   * ones.
   */
  reloadCertificate(): Promise<void>
  /**
   * Returns the earliest expiry among the certificates of the current chain, in milliseconds since 1970; undefined
   * without TLS.
   */
  certificateExpiresAt(): number | undefined
}

type CertificateFiles = Pick<ListenSettings, 'certFile' | 'keyFile'>

/**
 * Creates a TLS server if the settings name a certificate, otherwise a plain HTTP server. Rejects if the certificate is
 * unusable.
 */
export async function createApiServer(files: CertificateFiles): Promise<ApiServer> {
  const certificate = await readCertificate(files)
  // The handler checks the Host header. Node.js would refuse a request without the header too, but its error answer has
  // no body.
  const options = { ...TIME_LIMITS, requireHostHeader: false }
  if (!certificate)
    return {
      server: limited(createServer(options)),
      scheme: 'http',
      reloadCertificate: async () => {},
      certificateExpiresAt: () => undefined,
    }
  let expiresAt = firstExpiry(certificate.cert)
  const server = createTlsServer({ ...options, ...certificate, handshakeTimeout: TIME_LIMITS.headersTimeout })
  return {
    server: limited(server),
    scheme: 'https',
    async reloadCertificate() {
      // This throws if certificate and key do not match, for example during a renewal. Then the old ones stay in use.
      const renewed = await readCertificate(files)
      server.setSecureContext({ ...renewed })
      if (renewed) expiresAt = firstExpiry(renewed.cert)
    },
    certificateExpiresAt: () => expiresAt,
  }
}

/** Time limits in milliseconds. */
const TIME_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // More than the usual 60 s of proxies, because the proxy must close an idle connection first.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
}
/**
 * Milliseconds after which an idle connection is closed. It also counts as idle while its client does not read an
 * answer.
 */
const SOCKET_IDLE_MS = 90_000
const MAX_CONNECTIONS = 8192
const MAX_REQUESTS_PER_SOCKET = 10_000

function limited(server: Server): Server {
  server.timeout = SOCKET_IDLE_MS
  server.maxConnections = MAX_CONNECTIONS
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  // Called for a request above `MAX_REQUESTS_PER_SOCKET`. By default, Node.js would send an answer without a body.
  return server.on('dropRequest', (_request, socket) => socket.destroy())
}

async function readCertificate({ certFile, keyFile }: CertificateFiles) {
  if (certFile === null || keyFile === null) return undefined
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
  return { cert, key }
}

function firstExpiry(chain: string): number {
  const certificates = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [chain]
  return Math.min(...certificates.map((pem) => Date.parse(new X509Certificate(pem).validTo)))
}

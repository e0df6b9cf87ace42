/** Whether a client takes gzip, by its `Accept-Encoding` (RFC 9110, section 12.5.3), and does not rather have it plain. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false
  // Nearly all: then no coding is rather taken than another.
  if (!header.includes(';')) return UNWEIGHTED.test(header)
  const weights = new Map<string, number>()
  for (const entry of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, quality === undefined ? 1 : Number(quality.slice(2)))
  }
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0)
}

const UNWEIGHTED = /(?:^|,)\s*(?:gzip|x-gzip|\*)\s*(?:,|$)/i

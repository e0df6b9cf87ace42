const UNRESERVED = /[A-Za-z0-9\-._~]/

/**
 * Value of the `Authorization` header by which a client shows its secret: RFC 6749, section 2.3.1, with each of the two form-encoded.
 * What no URL needs to encode stays as it is, since LemonLDAP::NG, Glewlwyd and authentik compare without decoding, and every UUID has a
 * `-`; a blank is `%20`, since Canaille decodes percent signs only. Who decodes by the book reads the same.
 */
export function basicCredentials(clientId: string, secret: string): string {
  return `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString('base64')}`
}

function encoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

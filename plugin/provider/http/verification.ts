/** For every TLS connection of the plugin: certificates are verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
export const VERIFIED = { rejectUnauthorized: true } as const

/** Whether the environment asks Node.js to accept any certificate. */
export function isVerificationSwitchedOff(): boolean {
  return process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
}

/** What an administrator reads then. */
export const SWITCHED_OFF = {
  reason: 'is 0; the plugin verifies the certificates of identity providers and vendors all the same',
  remedy:
    'Remove it, since everything else in this process accepts any certificate. If the authority of the IdP is private, name its chain in NODE_EXTRA_CA_CERTS.',
} as const
